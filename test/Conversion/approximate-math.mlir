// RUN: remat-opt %s -remat-approximate-math | FileCheck %s
// RUN: remat-opt %s -remat-approximate-math=fast-powers | FileCheck %s --check-prefix=FAST

// CHECK-LABEL: func.func @expands_scalars_and_vectors(
// CHECK-NOT: math.exp
// CHECK: return

// FAST-LABEL: func.func @expands_scalars_and_vectors(
// FAST-NOT: math.exp %
// FAST: math.exp2 %{{.*}} fastmath<afn> : f32
// FAST-NOT: math.exp %
// FAST: math.exp2 %{{.*}} fastmath<afn> : vector<8xf32>
// FAST-NOT: math.exp %
// FAST: return
func.func @expands_scalars_and_vectors(%x: f32, %v: vector<8xf32>) -> (f32, vector<8xf32>) {
  %0 = math.exp %x : f32
  %1 = math.exp %v : vector<8xf32>
  return %0, %1 : f32, vector<8xf32>
}

// CHECK-LABEL: func.func @expands_erf(
// CHECK-NOT: math.{{erf|exp}}
// CHECK: return
// FAST-LABEL: func.func @expands_erf(
// FAST-NOT: math.erf %
// FAST: math.exp2 %{{.*}} fastmath<afn> : f32
// FAST-NOT: math.erf %
// FAST: math.exp2 %{{.*}} fastmath<afn> : vector<8xf32>
// FAST-NOT: math.erf %
// FAST: return
func.func @expands_erf(%x: f32, %v: vector<8xf32>) -> (f32, vector<8xf32>) {
  %0 = math.erf %x : f32
  %1 = math.erf %v : vector<8xf32>
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

// x / c by the rounded inverse of c and what the product lacks; zeros and infinities are not corrected, which below 1 may be
// quotients of numbers.
// CHECK-LABEL: func.func @divides_by_constants(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32, %[[V:[a-z0-9]+]]: vector<4xf64>
// CHECK: %[[INVERSE:.*]] = arith.constant 0.00130208337 : f32
// CHECK: %[[Q:.*]] = arith.mulf %[[X]], %[[INVERSE]] : f32
// CHECK: %[[NEGATED:.*]] = arith.constant -7.680000e+02 : f32
// CHECK: %[[R:.*]] = math.fma %[[Q]], %[[NEGATED]], %[[X]] : f32
// CHECK: %[[BETTER:.*]] = math.fma %[[R]], %[[INVERSE]], %[[Q]] : f32
// CHECK: %[[HOLDS:.*]] = arith.cmpf one, %[[R]], %{{.*}} : f32
// CHECK: arith.select %[[HOLDS]], %[[BETTER]], %[[Q]] : f32
// CHECK: arith.mulf %[[V]], %{{.*}} : vector<4xf64>
// CHECK-COUNT-2: math.fma %{{.*}} : vector<4xf64>
// CHECK: arith.cmpf ord, {{.*}} : vector<4xf64>
// CHECK: %[[EXACT:.*]] = arith.mulf %[[X]], %{{.*}} : f32
// CHECK: return %{{.*}}, %{{.*}}, %[[EXACT]]
func.func @divides_by_constants(%x: f32, %v: vector<4xf64>) -> (f32, vector<4xf64>, f32) {
  %c = arith.constant 768.0 : f32
  %d = arith.constant 0.3 : f64
  %four = arith.constant -4.0 : f32
  %many = vector.broadcast %d : f64 to vector<4xf64>
  %0 = arith.divf %x, %c : f32
  %1 = arith.divf %v, %many : vector<4xf64>
  %2 = arith.divf %x, %four : f32
  return %0, %1, %2 : f32, vector<4xf64>, f32
}

// CHECK-LABEL: func.func @divides_otherwise(
// CHECK-COUNT-6: arith.divf
func.func @divides_otherwise(%x: f32, %y: f32, %h: f16, %t: tensor<4xf32>) -> (f32, f32, f32, f32, f16, tensor<4xf32>) {
  %three = arith.constant 3.0 : f32
  %zero = arith.constant 0.0 : f32
  %huge = arith.constant 1.0e30 : f32
  %half = arith.constant 3.0 : f16
  %threes = arith.constant dense<3.0> : tensor<4xf32>
  %0 = arith.divf %x, %y : f32
  %1 = arith.divf %three, %x : f32
  %2 = arith.divf %x, %zero : f32
  %3 = arith.divf %x, %huge : f32
  %4 = arith.divf %h, %half : f16
  %5 = arith.divf %t, %threes : tensor<4xf32>
  return %0, %1, %2, %3, %4, %5 : f32, f32, f32, f32, f16, tensor<4xf32>
}
