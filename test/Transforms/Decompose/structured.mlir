// RUN: remat-opt %s -remat-fuse -cse | FileCheck %s

// CHECK-LABEL: func @a_chain_of_tensor_operations_is_one_kernel(
// CHECK-COUNT-1: linalg.generic
// CHECK:           math.sincos
// CHECK:           arith.select
// CHECK:         } -> tensor<4xf32>
// CHECK-NEXT:    return
func.func @a_chain_of_tensor_operations_is_one_kernel(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %s, %k = math.sincos %x : tensor<4xf32>
  %p = arith.mulf %s, %k : tensor<4xf32>
  %y = arith.select %c, %p, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func @phases_stay(
// CHECK:         linalg.generic {{.*}} attrs =  {remat.phase = "recompute"} {
// CHECK:           math.exp %{{.*}} : f32
func.func @phases_stay(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.exp %x {remat.phase = "recompute"} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func @generate(
// CHECK-NOT:     tensor.generate
// CHECK:         linalg.generic
// CHECK:           %[[I:.*]] = linalg.index 0
// CHECK:           tensor.extract %{{.*}}[%[[I]]]
func.func @generate(%x: tensor<8xf32>, %n: index) -> tensor<?xf32> {
  %y = tensor.generate %n {
  ^bb0(%i: index):
    %e = tensor.extract %x[%i] : tensor<8xf32>
    tensor.yield %e : f32
  } : tensor<?xf32>
  return %y : tensor<?xf32>
}

// CHECK-LABEL: func @gather_of_rows(
// CHECK:         linalg.generic
// CHECK:           %[[B:.*]] = linalg.index 0
// CHECK:           %[[P:.*]] = tensor.extract %arg1[%[[B]], %{{.*}}] : tensor<5x1xi32>
// CHECK:           %[[I:.*]] = arith.index_cast %[[P]]
// CHECK:           %[[J:.*]] = linalg.index 1
// CHECK:           tensor.extract %arg0[%[[I]], %[[J]]]
func.func @gather_of_rows(%t: tensor<8x3xf32>, %p: tensor<5x1xi32>) -> tensor<5x3xf32> {
  %y = tensor.gather %t[%p] gather_dims([0]) : (tensor<8x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}

// CHECK-LABEL: func @only_padding_with_a_constant_stays(
// CHECK:         tensor.pad
// CHECK-NOT:     tensor.pad
// CHECK:         linalg.fill
// CHECK:         tensor.insert_slice
func.func @only_padding_with_a_constant_stays(%x: tensor<4xf32>, %v: f32) -> (tensor<6xf32>, tensor<6xf32>) {
  %c = arith.constant 1.0 : f32
  %y = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<4xf32> to tensor<6xf32>
  %z = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %v : f32
  } : tensor<4xf32> to tensor<6xf32>
  return %y, %z : tensor<6xf32>, tensor<6xf32>
}

// CHECK-LABEL: func @layouts(
// CHECK-NOT:     linalg.pack
// CHECK:         tensor.pad
// CHECK:         tensor.expand_shape
// CHECK-NOT:     linalg.unpack
// CHECK:         tensor.collapse_shape
// CHECK:         tensor.extract_slice
func.func @layouts(%x: tensor<5x6xf32>) -> tensor<5x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x3x2x2xf32>
  %p = linalg.pack %x padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e
      : tensor<5x6xf32> -> tensor<3x3x2x2xf32>
  %f = tensor.empty() : tensor<5x6xf32>
  %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %f : tensor<3x3x2x2xf32> -> tensor<5x6xf32>
  return %u : tensor<5x6xf32>
}

// CHECK-LABEL: func @bits_of_numbers(
// CHECK:         arith.bitcast %{{.*}} : f32 to i32
func.func @bits_of_numbers(%x: tensor<4xf32>) -> tensor<4xi32> {
  %y = tensor.bitcast %x : tensor<4xf32> to tensor<4xi32>
  return %y : tensor<4xi32>
}

// CHECK-LABEL: func @branches_of_a_concatenation(
// CHECK-NEXT:    %[[Y:.*]] = tensor.concat dim(1) %arg0, %arg1, %arg2 {remat.phase = "recompute"} : (tensor<?x1x3xf32>, tensor<?x8x3xf32>, tensor<?x1x3xf32>) -> tensor<?x10x3xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @branches_of_a_concatenation(%a: tensor<?x1x3xf32>, %b: tensor<?x8x3xf32>, %c: tensor<?x1x3xf32>, %n: index) -> tensor<?x10x3xf32> {
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %e = tensor.empty(%n) : tensor<?x10x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<?x10x3xf32>) attrs = {remat.phase = "recompute"} {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %first = arith.cmpi ult, %j, %c1 : index
    %v = scf.if %first -> (f32) {
      %x = tensor.extract %a[%i, %j, %k] : tensor<?x1x3xf32>
      scf.yield %x : f32
    } else {
      %second = arith.cmpi ult, %j, %c9 : index
      %w = scf.if %second -> (f32) {
        %at = arith.subi %j, %c1 : index
        %x = tensor.extract %b[%i, %at, %k] : tensor<?x8x3xf32>
        scf.yield %x : f32
      } else {
        %at = arith.subi %j, %c9 : index
        %x = tensor.extract %c[%i, %at, %k] : tensor<?x1x3xf32>
        scf.yield %x : f32
      }
      scf.yield %w : f32
    }
    linalg.yield %v : f32
  } -> tensor<?x10x3xf32>
  return %y : tensor<?x10x3xf32>
}

// The second part is read from its second element on.
// CHECK-LABEL: func @branches_of_something_else(
// CHECK-NOT:     tensor.concat
// CHECK:         scf.if
func.func @branches_of_something_else(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<4xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<4xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %first = arith.cmpi ult, %i, %c2 : index
    %v = scf.if %first -> (f32) {
      %x = tensor.extract %a[%i] : tensor<2xf32>
      scf.yield %x : f32
    } else {
      %at = arith.subi %i, %c1 : index
      %x = tensor.extract %b[%at] : tensor<3xf32>
      scf.yield %x : f32
    }
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// Whatever takes the place of an operation is part of the same phase.
// CHECK-LABEL: func @gather_and_bitcast_stay_in_their_phase(
// CHECK-COUNT-2: linalg.generic {{.*}} attrs = {{.*}}kept, remat.phase = "recompute"}
func.func @gather_and_bitcast_stay_in_their_phase(%t: tensor<8xf32>, %p: tensor<5x1xi32>) -> (tensor<5xf32>, tensor<8xi32>) {
  %y = tensor.gather %t[%p] gather_dims([0]) {kept, remat.phase = "recompute"} : (tensor<8xf32>, tensor<5x1xi32>) -> tensor<5xf32>
  %z = tensor.bitcast %t {kept, remat.phase = "recompute"} : tensor<8xf32> to tensor<8xi32>
  return %y, %z : tensor<5xf32>, tensor<8xi32>
}

// CHECK-LABEL: func @generate_and_pad_stay_in_their_phase(
// CHECK: linalg.generic {{.*}} attrs = {{.*}}remat.phase = "backward"}
// CHECK: linalg.fill {remat.phase = "backward"}
// CHECK: tensor.insert_slice {{.*}} {remat.phase = "backward"}
func.func @generate_and_pad_stay_in_their_phase(%x: tensor<8xf32>, %v: f32) -> (tensor<8xf32>, tensor<10xf32>) {
  %y = tensor.generate {
  ^bb0(%i: index):
    %e = tensor.extract %x[%i] : tensor<8xf32>
    tensor.yield %e : f32
  } {remat.phase = "backward"} : tensor<8xf32>
  %z = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %v : f32
  } {remat.phase = "backward"} : tensor<8xf32> to tensor<10xf32>
  return %y, %z : tensor<8xf32>, tensor<10xf32>
}

// CHECK-LABEL: func @layouts_stay_in_their_phase(
// CHECK: tensor.expand_shape
// CHECK: linalg.transpose {{.*}} {remat.phase = "backward"}
func.func @layouts_stay_in_their_phase(%x: tensor<4x6xf32>, %e: tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32> {
  %p = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e {remat.phase = "backward"} : tensor<4x6xf32> -> tensor<2x3x2x2xf32>
  return %p : tensor<2x3x2x2xf32>
}

// CHECK-LABEL: func @loops_stay_in_their_phase(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tensor.insert_slice {{.*}} {remat.phase = "backward"}
// CHECK: } {remat.phase = "backward"}
// CHECK: } {kept, remat.phase = "backward"}
// CHECK: scf.for
// CHECK: arith.addf {{.*}} {remat.phase = "backward"}
// CHECK: } {kept, remat.phase = "backward"}
// CHECK: scf.for
// CHECK: tensor.insert %{{.*}} {remat.phase = "backward"}
// CHECK: } {kept, remat.phase = "backward"}
func.func @loops_stay_in_their_phase(%x: tensor<4x6xf32>, %p: tensor<5x1xi32>, %s: tensor<5xf32>, %d: tensor<8xf32>) -> (tensor<4x6xf32>, f32, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %a = scf.forall (%i, %j) in (4, 6) shared_outs(%o = %e) -> tensor<4x6xf32> {
    %t = tensor.extract_slice %x[%i, %j] [1, 1] [1, 1] : tensor<4x6xf32> to tensor<1x1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%i, %j] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<4x6xf32>
    }
  } {kept, remat.phase = "backward"}
  %b = scf.parallel (%i) = (%c0) to (%c4) step (%c1) init (%zero) -> f32 {
    %v = tensor.extract %x[%i, %c0] : tensor<4x6xf32>
    scf.reduce(%v : f32) {
    ^bb0(%l: f32, %r: f32):
      %sum = arith.addf %l, %r : f32
      scf.reduce.return %sum : f32
    }
  } {kept, remat.phase = "backward"}
  %c = tensor.scatter %s into %d[%p] scatter_dims([0]) unique {kept, remat.phase = "backward"} : (tensor<5xf32>, tensor<8xf32>, tensor<5x1xi32>) -> tensor<8xf32>
  return %a, %b, %c : tensor<4x6xf32>, f32, tensor<8xf32>
}
