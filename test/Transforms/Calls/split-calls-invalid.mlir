// RUN: remat-opt %s --remat-split-calls --split-input-file --verify-diagnostics

func.func private @g_joint(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
// expected-error @below {{stands for a half of @g_joint, but there is no declaration for the other half; leave remat.joint to remat-join-calls}}
func.func private @g_fwd(tensor<8xf32>) -> (tensor<8xf32>, none) attributes {remat.joint = @g_joint}

// -----

// expected-error @below {{stands for a half of @nowhere, but that is no function of one block with a remat.begin_backward}}
func.func private @g_fwd(tensor<8xf32>) -> (tensor<8xf32>, none) attributes {remat.joint = @nowhere}
func.func private @g_bwd(none, tensor<8xf32>) -> tensor<8xf32> attributes {remat.joint = @nowhere, remat.reads = array<i64>}

// -----

func.func private @g_joint(%x: tensor<8xf32>) -> tensor<8xf32> {
  remat.begin_backward
  return %x : tensor<8xf32>
}
// expected-error @below {{stands for a half of @g_joint, but their types do not fit}}
func.func private @g_fwd(tensor<8xf32>) -> (tensor<8xf32>, none) attributes {remat.joint = @g_joint}
func.func private @g_bwd(none, tensor<8xf32>) -> tensor<8xf32> attributes {remat.joint = @g_joint, remat.reads = array<i64>}

// -----

func.func private @g_joint(%x: tensor<8xf32>, %d: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  remat.begin_backward
  return %x, %d : tensor<8xf32>, tensor<8xf32>
}
func.func private @g_fwd(tensor<8xf32>) -> (tensor<8xf32>, none) attributes {remat.joint = @g_joint}
func.func private @g_bwd(none, tensor<8xf32>) -> tensor<8xf32> attributes {remat.joint = @g_joint, remat.reads = array<i64>}
func.func @caller(%token: none, %d: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{takes a token that no call of the other half gives}}
  %1 = call @g_bwd(%token, %d) : (none, tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
