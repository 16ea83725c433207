// RUN: remat-opt %s -remat-check-nans -split-input-file | FileCheck %s

#id = affine_map<(i) -> (i)>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:.*]]: memref<4xf32> {opt.param = "w"}, %[[X:.*]]: memref<4xf32, strided<[2]>>, %[[T:.*]]: memref<4xi32>
// Parameters, states and data first.
// CHECK: %[[C:.*]] = memref.cast %{{.*}} : memref<4xf32{{.*}}> to memref<?xf32, strided<[?], offset: ?>>
// CHECK: %[[OK:.*]] = call @has_no_nan(%[[C]])
// CHECK: cf.assert %[[OK]], "'w' has a NaN when the step begins"
// CHECK: cf.assert %{{.*}}, "argument 1 has a NaN when the step begins"
// CHECK-NOT: cf.assert
// CHECK: linalg.generic
// CHECK: call @has_no_nan(
// CHECK-NEXT: cf.assert %{{.*}}, "linalg.generic at check-nans.mlir:{{[0-9]+}} is the first operation whose result has a NaN"
// Integers are numbers.
// CHECK: linalg.fill
// CHECK-NOT: cf.assert
// A constant is what the model says; what computes with it is looked at.
// CHECK: linalg.fill
// CHECK-NOT: cf.assert
// CHECK: scf.for
// CHECK: linalg.fill
// CHECK-NEXT: memref.cast
// CHECK-NEXT: call @has_no_nan_0(
// CHECK-NEXT: cf.assert %{{.*}}, "linalg.fill at check-nans.mlir
// CHECK: return
// One function for each rank and type.
// CHECK-LABEL: func.func private @has_no_nan(%{{.*}}: memref<?xf32, strided<[?], offset: ?>>) -> i1
// CHECK: scf.for
// CHECK: arith.cmpf ord
// CHECK: arith.andi
// CHECK-LABEL: func.func private @has_no_nan_0(%{{.*}}: memref<f64, strided<[], offset: ?>>) -> i1
// CHECK-NOT: scf.for
// CHECK: arith.cmpf ord
// CHECK-NOT: func.func
func.func @step(%w: memref<4xf32> {opt.param = "w"}, %x: memref<4xf32, strided<[2]>>, %t: memref<4xi32>,
                %r: memref<f64> {remat.result = 0}, %one: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0 : i32
  %nan = arith.constant 0x7FC00000 : f32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32, strided<[2]>>) outs(%w : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %l = math.log %a : f32
    linalg.yield %l : f32
  }
  linalg.fill ins(%zero : i32) outs(%t : memref<4xi32>)
  linalg.fill ins(%nan : f32) outs(%w : memref<4xf32>)
  scf.for %i = %c0 to %c3 step %c1 {
    linalg.fill ins(%one : f64) outs(%r : memref<f64>)
  }
  return
}

// -----

// Tensors are not looked at, nor functions without a body.
// CHECK-LABEL: func.func private @outside
func.func private @outside(memref<4xf32> {opt.param})
// CHECK-LABEL: func.func @tensors
// CHECK-NOT: cf.assert
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
