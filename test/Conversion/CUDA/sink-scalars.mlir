// RUN: remat-opt %s --remat-sink-scalars --split-input-file | FileCheck %s

#id = affine_map<(i) -> (i)>
#all = affine_map<(i) -> ()>

// The kernel reads the norm; the host does not, and passes the scalar that it knows.
// CHECK-LABEL: func @the_factor_of_a_clipped_gradient(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[NORM:.*]]: tensor<f64>, %[[RATE:.*]]: f32
// CHECK-NOT: tensor.extract
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[RATE]] : tensor<8xf32>, f32)
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[READ:.*]] = tensor.extract %[[NORM]][]
// CHECK-NEXT: %[[ROOT:.*]] = math.sqrt %[[READ]]
// CHECK-NEXT: arith.truncf %[[ROOT]]
// CHECK-NOT: tensor.extract
// CHECK: return
func.func @the_factor_of_a_clipped_gradient(%x: tensor<8xf32>, %norm: tensor<f64>, %rate: f32) -> tensor<8xf32> {
  %read = tensor.extract %norm[] : tensor<f64>
  %root = math.sqrt %read : f64
  %factor = arith.truncf %root : f64 to f32
  %empty = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #all, #all, #id], iterator_types = ["parallel"]}
      ins(%x, %factor, %rate : tensor<8xf32>, f32, f32) outs(%empty : tensor<8xf32>) {
  ^bb0(%a: f32, %f: f32, %r: f32, %out: f32):
    %p = arith.mulf %a, %f : f32
    %q = arith.mulf %p, %r : f32
    linalg.yield %q : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

#id = affine_map<(i) -> (i)>
#all = affine_map<(i) -> ()>

// A branch needs it on the host: it stays there, too.
// CHECK-LABEL: func @what_the_host_needs_stays(
// CHECK: %[[READ:.*]] = tensor.extract
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<8xf32>)
// CHECK: tensor.extract
// CHECK: return {{.*}}%[[READ]]
func.func @what_the_host_needs_stays(%x: tensor<8xf32>, %norm: tensor<f32>) -> (tensor<8xf32>, f32) {
  %read = tensor.extract %norm[] : tensor<f32>
  %empty = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #all, #id], iterator_types = ["parallel"]}
      ins(%x, %read : tensor<8xf32>, f32) outs(%empty : tensor<8xf32>) {
  ^bb0(%a: f32, %f: f32, %out: f32):
    %p = arith.mulf %a, %f : f32
    linalg.yield %p : f32
  } -> tensor<8xf32>
  return %y, %read : tensor<8xf32>, f32
}
