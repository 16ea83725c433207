// RUN: remat-opt %s -remat-approximate-math | FileCheck %s

// CHECK-LABEL: func.func @expands_scalars_and_vectors(
// CHECK-NOT: math.exp
// CHECK: return
func.func @expands_scalars_and_vectors(%x: f32, %v: vector<8xf32>) -> (f32, vector<8xf32>) {
  %0 = math.exp %x : f32
  %1 = math.exp %v : vector<8xf32>
  return %0, %1 : f32, vector<8xf32>
}

// CHECK-LABEL: func.func @leaves_tensors_and_scalable_vectors(
// CHECK: math.exp %{{.*}} : tensor<?xf32>
// CHECK: math.log %{{.*}} : tensor<4xf32>
// CHECK: math.fpowi %{{.*}} : tensor<4xf32>, tensor<4xi32>
// CHECK: math.exp %{{.*}} : vector<[4]xf32>
func.func @leaves_tensors_and_scalable_vectors(%x: tensor<?xf32>, %y: tensor<4xf32>, %n: tensor<4xi32>, %v: vector<[4]xf32>)
    -> (tensor<?xf32>, tensor<4xf32>, tensor<4xf32>, vector<[4]xf32>) {
  %0 = math.exp %x : tensor<?xf32>
  %1 = math.log %y : tensor<4xf32>
  %2 = math.fpowi %y, %n : tensor<4xf32>, tensor<4xi32>
  %3 = math.exp %v : vector<[4]xf32>
  return %0, %1, %2, %3 : tensor<?xf32>, tensor<4xf32>, tensor<4xf32>, vector<[4]xf32>
}
