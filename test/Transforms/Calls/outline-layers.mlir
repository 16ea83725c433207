// RUN: remat-opt %s --remat-outline-layers="min-layers=2 min-ops=1" --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-outline-layers="min-layers=4 min-ops=1" --split-input-file | FileCheck %s --check-prefix=FEW
// RUN: remat-opt %s --remat-outline-layers="min-layers=2" --split-input-file | FileCheck %s --check-prefix=SMALL
// FEW-NOT: call
// SMALL-NOT: call

#rows = affine_map<(i, j) -> (i, j)>

// Labels and locations do not count, and data may be shared.
// CHECK-LABEL: func.func private @block(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x8xf32>, %[[MASK:.*]]: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {no_inline}
// CHECK-NEXT: %[[Y:.*]] = remat.region policy(#remat.dots_saveable) (%{{.*}} = %[[X]] : tensor<4x8xf32>, %{{.*}} = %[[W]] : tensor<8x8xf32>, %{{.*}} = %[[MASK]] : tensor<4x8xf32>)
// CHECK-SAME: {label = "block"}
// CHECK: return %[[Y]]
// CHECK-LABEL: func.func @equal(
// CHECK-SAME: %[[W0:.*]]: tensor<8x8xf32> {opt.param}, %[[W1:.*]]: tensor<8x8xf32> {opt.param}, %[[W2:[^:]*]]: tensor<8x8xf32> {opt.param}, %[[X0:.*]]: tensor<4x8xf32>, %[[M:.*]]: tensor<4x8xf32>)
// CHECK-NOT: remat.region
// CHECK: %[[X1:.*]] = call @block(%[[X0]], %[[W0]], %[[M]])
// CHECK-NEXT: %[[X2:.*]] = call @block(%[[X1]], %[[W1]], %[[M]])
// CHECK-NEXT: %[[X3:.*]] = call @block(%[[X2]], %[[W2]], %[[M]])
// CHECK-NEXT: return %[[X3]]
func.func @equal(%w0: tensor<8x8xf32> {opt.param}, %w1: tensor<8x8xf32> {opt.param}, %w2: tensor<8x8xf32> {opt.param},
                 %x: tensor<4x8xf32>, %mask: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %1 = remat.region policy(#remat.dots_saveable) (%a = %x : tensor<4x8xf32>, %b = %w0 : tensor<8x8xf32>, %m = %mask : tensor<4x8xf32>) -> tensor<4x8xf32> attributes {label = "block0"} {
    %e = tensor.empty() : tensor<4x8xf32>
    %p = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%m : tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = linalg.exp ins(%p : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    remat.yield %y : tensor<4x8xf32>
  }
  %2 = remat.region policy(#remat.dots_saveable) (%a = %1 : tensor<4x8xf32>, %b = %w1 : tensor<8x8xf32>, %m = %mask : tensor<4x8xf32>) -> tensor<4x8xf32> attributes {label = "block1"} {
    %e = tensor.empty() : tensor<4x8xf32>
    %p = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%m : tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = linalg.exp ins(%p : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    remat.yield %y : tensor<4x8xf32>
  }
  %3 = remat.region policy(#remat.dots_saveable) (%a = %2 : tensor<4x8xf32>, %b = %w2 : tensor<8x8xf32>, %m = %mask : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %p = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%m : tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = linalg.exp ins(%p : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    remat.yield %y : tensor<4x8xf32>
  }
  return %3 : tensor<4x8xf32>
}

// -----

// Another policy, another body, other types: none is equal to the first one.
// CHECK-LABEL: func.func @different(
// CHECK-COUNT-4: remat.region
// CHECK-NOT: call
func.func @different(%w: tensor<8xf32> {opt.param}) -> (tensor<8xf32>, tensor<4xf32>) {
  %1 = remat.region (%a = %w : tensor<8xf32>) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y : tensor<8xf32>
  }
  %2 = remat.region policy(#remat.dots_saveable) (%a = %1 : tensor<8xf32>) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y : tensor<8xf32>
  }
  %3 = remat.region (%a = %2 : tensor<8xf32>) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.log ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y : tensor<8xf32>
  }
  %4 = tensor.extract_slice %3[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %5 = remat.region (%a = %4 : tensor<4xf32>) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %y = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    remat.yield %y : tensor<4xf32>
  }
  return %3, %5 : tensor<8xf32>, tensor<4xf32>
}

// -----

// The gradient of a weight that layers share goes on in their backwards.
// CHECK-LABEL: func.func @shared_weight(
// CHECK-SAME: %[[W:.*]]: tensor<8x8xf32> {opt.param}, %[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: %[[Y:.*]] = call @layer(%[[X]], %[[W]])
// CHECK-NEXT: call @layer(%[[Y]], %[[W]])
func.func @shared_weight(%w: tensor<8x8xf32> {opt.param}, %x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %1 = remat.region (%a = %x : tensor<4x8xf32>, %b = %w : tensor<8x8xf32>) -> tensor<4x8xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %y = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    remat.yield %y : tensor<4x8xf32>
  }
  %2 = remat.region (%a = %1 : tensor<4x8xf32>, %b = %w : tensor<8x8xf32>) -> tensor<4x8xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %y = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    remat.yield %y : tensor<4x8xf32>
  }
  return %2 : tensor<4x8xf32>
}

// -----

// So does that of what skips layers.
// CHECK-LABEL: func.func @skip_connection(
// CHECK-SAME: %[[W:.*]]: tensor<8xf32> {opt.param})
// CHECK: %[[Y:.*]] = call @layer(%[[W]])
// CHECK-NEXT: call @layer(%[[Y]])
func.func @skip_connection(%w: tensor<8xf32> {opt.param}) -> tensor<8xf32> {
  %0 = remat.name "skipped" %w : tensor<8xf32>
  %1 = remat.region (%a = %w : tensor<8xf32>) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y : tensor<8xf32>
  }
  %2 = remat.region (%a = %1 : tensor<8xf32>) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y : tensor<8xf32>
  }
  %e = tensor.empty() : tensor<8xf32>
  %3 = linalg.add ins(%0, %2 : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// The first layer computes what was computed before.
// CHECK-LABEL: func.func @computed_twice(
// CHECK-COUNT-2: remat.region
// CHECK-NOT: call
func.func @computed_twice(%w: tensor<8xf32> {opt.param}) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.exp ins(%w : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = remat.region (%a = %w : tensor<8xf32>) -> tensor<8xf32> {
    %e1 = tensor.empty() : tensor<8xf32>
    %p = linalg.exp ins(%a : tensor<8xf32>) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
    %y = linalg.sqrt ins(%p : tensor<8xf32>) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y : tensor<8xf32>
  }
  %2 = remat.region (%a = %1 : tensor<8xf32>) -> tensor<8xf32> {
    %e1 = tensor.empty() : tensor<8xf32>
    %p = linalg.exp ins(%a : tensor<8xf32>) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
    %y = linalg.sqrt ins(%p : tensor<8xf32>) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y : tensor<8xf32>
  }
  return %0, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----

// One value twice has one cotangent.
// CHECK-LABEL: func.func @operands_twice(
// CHECK-COUNT-2: remat.region
// CHECK-NOT: call
func.func @operands_twice(%w: tensor<8xf32> {opt.param}) -> tensor<8xf32> {
  %1 = remat.region (%a = %w : tensor<8xf32>, %b = %w : tensor<8xf32>) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.mul ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y : tensor<8xf32>
  }
  %2 = remat.region (%a = %1 : tensor<8xf32>, %b = %1 : tensor<8xf32>) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.mul ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y : tensor<8xf32>
  }
  return %2 : tensor<8xf32>
}

// -----

// They yield what they use themselves, the same value twice, or an operand.
// CHECK-LABEL: func.func @yields(
// CHECK-COUNT-6: remat.region
// CHECK-NOT: call
func.func @yields(%w: tensor<8xf32> {opt.param}) -> tensor<8xf32> {
  %1:2 = remat.region (%a = %w : tensor<8xf32>) -> tensor<8xf32>, tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %z = linalg.sqrt ins(%y : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %z, %y : tensor<8xf32>, tensor<8xf32>
  }
  %2:2 = remat.region (%a = %1#0 : tensor<8xf32>) -> tensor<8xf32>, tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %z = linalg.sqrt ins(%y : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %z, %y : tensor<8xf32>, tensor<8xf32>
  }
  %3:2 = remat.region (%a = %2#0 : tensor<8xf32>) -> tensor<8xf32>, tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.log ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y, %y : tensor<8xf32>, tensor<8xf32>
  }
  %4:2 = remat.region (%a = %3#0 : tensor<8xf32>) -> tensor<8xf32>, tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.log ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y, %y : tensor<8xf32>, tensor<8xf32>
  }
  %5:2 = remat.region (%a = %4#0 : tensor<8xf32>) -> tensor<8xf32>, tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.tanh ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y, %a : tensor<8xf32>, tensor<8xf32>
  }
  %6:2 = remat.region (%a = %5#0 : tensor<8xf32>) -> tensor<8xf32>, tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.tanh ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    remat.yield %y, %a : tensor<8xf32>, tensor<8xf32>
  }
  return %6#0 : tensor<8xf32>
}

// -----

// Memory of values without a static size is not planned.
// CHECK-LABEL: func.func @dynamic(
// CHECK-COUNT-2: remat.region
// CHECK-NOT: call
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %1 = remat.region (%a = %x : tensor<?xf32>) -> tensor<?xf32> {
    %y = math.exp %a : tensor<?xf32>
    remat.yield %y : tensor<?xf32>
  }
  %2 = remat.region (%a = %1 : tensor<?xf32>) -> tensor<?xf32> {
    %y = math.exp %a : tensor<?xf32>
    remat.yield %y : tensor<?xf32>
  }
  return %2 : tensor<?xf32>
}

// -----

// Where nothing is trained, layers may share what they like. A function that has the name gets another one.
// CHECK-LABEL: func.func @layer()
// CHECK: func.func private @layer_0(
// CHECK-LABEL: func.func @evaluation(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>)
// CHECK: call @layer_0(%[[X]], %[[X]])
// CHECK: %[[N:.*]] = math.absf %[[X]]
// CHECK-NEXT: call @layer_0(%[[X]], %[[N]])
func.func @layer() {
  return
}
func.func @evaluation(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %1 = remat.region (%a = %x : tensor<8xf32>, %b = %x : tensor<8xf32>) -> tensor<8xf32> {
    %y = math.exp %a : tensor<8xf32>
    %z = math.log %b : tensor<8xf32>
    remat.yield %y : tensor<8xf32>
  }
  %n = math.absf %x : tensor<8xf32>
  %2 = remat.region (%a = %x : tensor<8xf32>, %b = %n : tensor<8xf32>) -> tensor<8xf32> {
    %y = math.exp %a : tensor<8xf32>
    %z = math.log %b : tensor<8xf32>
    remat.yield %y : tensor<8xf32>
  }
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
