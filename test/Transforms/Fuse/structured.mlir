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
// CHECK-NEXT:    %[[Y:.*]] = tensor.concat dim(1) %arg0, %arg1, %arg2 : (tensor<?x1x3xf32>, tensor<?x8x3xf32>, tensor<?x1x3xf32>) -> tensor<?x10x3xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @branches_of_a_concatenation(%a: tensor<?x1x3xf32>, %b: tensor<?x8x3xf32>, %c: tensor<?x1x3xf32>, %n: index) -> tensor<?x10x3xf32> {
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %e = tensor.empty(%n) : tensor<?x10x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<?x10x3xf32>) {
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
