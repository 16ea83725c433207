// RUN: remat-opt %s -remat-plan -remat-materialize | FileCheck %s
// RUN: remat-opt %S/../../../examples/digits.mlir -remat-train-to-tensors='policy=save_only_names<"conv">' | FileCheck %s --check-prefix=DIGITS

// The example names views of its convolutions: none of them is recomputed.
// DIGITS-LABEL: func.func @step(
// DIGITS-NOT: remat.conv {{.*}}"recompute"
// DIGITS: remat.phase = "recompute"
// DIGITS-NOT: remat.conv {{.*}}"recompute"
// DIGITS: return

// A view of a value that may not be saved is saved if it may be: its
// recomputation would include that of its source.
// CHECK-LABEL: func.func @a_named_view_of_a_product(
// CHECK: residuals(tensor<8xf32>)
// CHECK: remat.backward
// CHECK-NOT: linalg.matmul
// CHECK: return
func.func @a_named_view_of_a_product(%x: tensor<4x2xf32>, %ct: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y, %r = remat.region policy(#remat.save_only_names<"rows">) (%a = %x : tensor<4x2xf32>) -> tensor<8xf32> residuals(tensor<8xf32>) {
    %z = arith.constant dense<0.0> : tensor<4x2xf32>
    %w = arith.constant dense<2.0> : tensor<2x2xf32>
    %0 = linalg.matmul ins(%a, %w : tensor<4x2xf32>, tensor<2x2xf32>) outs(%z : tensor<4x2xf32>) -> tensor<4x2xf32>
    %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<4x2xf32> into tensor<8xf32>
    %2 = remat.name "rows" %1 : tensor<8xf32>
    %3 = math.sin %2 : tensor<8xf32>
    remat.yield %3 : tensor<8xf32> residuals(%2 : tensor<8xf32>)
  }
  %dx = remat.backward residuals(%s = %r : tensor<8xf32>) cotangents(%dy = %ct : tensor<8xf32>) -> tensor<8xf32> {
    %0 = arith.mulf %dy, %s : tensor<8xf32>
    remat.yield %0 : tensor<8xf32>
  }
  return %y, %dx : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @a_named_view_of_an_operand(
// CHECK-NOT: residuals
// CHECK: remat.backward
// CHECK: remat.barrier {{.*}}recompute
// CHECK-NEXT: tensor.collapse_shape
// CHECK: return
func.func @a_named_view_of_an_operand(%x: tensor<4x2xf32>, %ct: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y, %r = remat.region policy(#remat.save_only_names<"rows">) (%a = %x : tensor<4x2xf32>) -> tensor<8xf32> residuals(tensor<8xf32>) {
    %1 = tensor.collapse_shape %a [[0, 1]] : tensor<4x2xf32> into tensor<8xf32>
    %2 = remat.name "rows" %1 : tensor<8xf32>
    %3 = math.sin %2 : tensor<8xf32>
    remat.yield %3 : tensor<8xf32> residuals(%2 : tensor<8xf32>)
  }
  %dx = remat.backward residuals(%s = %r : tensor<8xf32>) cotangents(%dy = %ct : tensor<8xf32>) -> tensor<8xf32> {
    %0 = arith.mulf %dy, %s : tensor<8xf32>
    remat.yield %0 : tensor<8xf32>
  }
  return %y, %dx : tensor<8xf32>, tensor<8xf32>
}
