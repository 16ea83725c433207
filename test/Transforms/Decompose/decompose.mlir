// RUN: remat-opt %s -remat-decompose | FileCheck %s
// RUN: remat-opt %s -remat-decompose -o %t.once
// RUN: remat-opt %t.once -remat-decompose | diff %t.once -

// Phase and other attributes go to the outermost loop; what is inside of it is the operation's own.
// CHECK-LABEL: func @attributes_stay(
// CHECK-NOT:     scf.forall
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             tensor.insert_slice
// CHECK:         } {my.tag, remat.phase = "recompute"}
func.func @attributes_stay(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = scf.forall (%i, %j) in (4, 8) shared_outs(%o = %e) -> (tensor<4x8xf32>) {
    %s = tensor.extract_slice %x[%i, %j] [1, 1] [1, 1] : tensor<4x8xf32> to tensor<1x1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i, %j] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<4x8xf32>
    }
  } {my.tag, remat.phase = "recompute"}
  return %y : tensor<4x8xf32>
}

// Nested operations are replaced before the outer one is copied.
// CHECK-LABEL: func @from_the_inside_out(
// CHECK-NOT:     scf.parallel
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             linalg.generic
// CHECK-NOT:     tensor.generate
func.func @from_the_inside_out(%n: index, %x: tensor<8xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
    %q = scf.parallel (%j) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
      %g = tensor.generate {
      ^bb0(%k: index):
        %v = tensor.extract %x[%k] : tensor<8xf32>
        tensor.yield %v : f32
      } : tensor<8xf32>
      %v = tensor.extract %g[%j] : tensor<8xf32>
      scf.reduce(%v : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    scf.reduce(%q : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }
  return %r : f32
}

// CHECK-LABEL: func @no_results_no_order_needed(
// CHECK:         scf.parallel
func.func @no_results_no_order_needed(%m: memref<8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    memref.store %v, %m[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @padding_with_a_constant_has_a_derivative(
// CHECK:         tensor.pad
func.func @padding_with_a_constant_has_a_derivative(%x: tensor<4xf32>) -> tensor<6xf32> {
  %c = arith.constant 1.0 : f32
  %y = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<4xf32> to tensor<6xf32>
  return %y : tensor<6xf32>
}

// Where there is nothing to pad, there is no slice to put it into.
// CHECK-LABEL: func.func @padding_around_nothing(
// CHECK-NOT: tensor.pad
// CHECK: %[[E:.*]] = tensor.empty() : tensor<4x4xf32>
// CHECK: %[[R:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[E]] : tensor<4x4xf32>)
// CHECK: return %[[R]]
func.func @padding_around_nothing(%x: tensor<0x3xf32>) -> tensor<4x4xf32> {
  %c = arith.constant 1.0 : f32
  %y = tensor.pad %x low[4, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<0x3xf32> to tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @concatenation_with_nothing
// CHECK-SAME: (%[[X:.*]]: tensor<3x4xf32>, %[[NOTHING:.*]]: tensor<0x4xf32>)
// CHECK: %[[TWO:.*]] = tensor.concat dim(0) %[[X]], %[[X]] :
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<0x4xf32>
// CHECK: return %[[X]], %[[TWO]], %[[EMPTY]]
func.func @concatenation_with_nothing(%x: tensor<3x4xf32>, %nothing: tensor<0x4xf32>)
    -> (tensor<3x4xf32>, tensor<6x4xf32>, tensor<0x4xf32>) {
  %one = tensor.concat dim(0) %x, %nothing : (tensor<3x4xf32>, tensor<0x4xf32>) -> tensor<3x4xf32>
  %two = tensor.concat dim(0) %x, %nothing, %x : (tensor<3x4xf32>, tensor<0x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  %none = tensor.concat dim(0) %nothing, %nothing : (tensor<0x4xf32>, tensor<0x4xf32>) -> tensor<0x4xf32>
  return %one, %two, %none : tensor<3x4xf32>, tensor<6x4xf32>, tensor<0x4xf32>
}

// -----

// A constant without elements is replaced: the translation to LLVM looks for the first one.
// CHECK-LABEL: func @empty_constant
// CHECK-NEXT: %[[E:.*]] = tensor.empty() : tensor<2x0xi64>
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<3> : tensor<1xi64>
// CHECK-NEXT: return %[[E]], %[[C]]
func.func @empty_constant() -> (tensor<2x0xi64>, tensor<1xi64>) {
  %e = arith.constant dense<> : tensor<2x0xi64>
  %c = arith.constant dense<3> : tensor<1xi64>
  return %e, %c : tensor<2x0xi64>, tensor<1xi64>
}
