//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_CALLS_PASSES_TD
#define REMAT_TRANSFORMS_CALLS_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineLayersPass : Pass<"remat-outline-layers", "::mlir::ModuleOp"> {
  let summary = "outline equal layers into one function";
  let description = [{
    `remat.region`s of which the bodies, policies and types of operands and results are
    the same, up to labels and locations, become calls of one private function that holds
    such a region. It is `no_inline`: what comes after this pass differentiates,
    schedules, packs and lowers it once. `remat-join-calls`, `remat-sink-steps` and
    `remat-pack-memory` see to it that a call takes about as many bytes as the inlined
    layer would.

    Gradients are bitwise the same. So a region stays in place if

    - an operation in it, or one that defines an operand, is equal to one elsewhere (see
      `remat-differentiate`);
    - two of its operands are the same value, which needs a gradient;
    - it yields a value that has other uses in it, or the same value twice;
    - types are dynamic.

    Run it when the forward has the form in which it is differentiated: equal
    layers then had the same context before. With `unless-budget` it does nothing
    where a train step has a budget, under which each layer is planned by itself,
    or accumulates eagerly, for which parts of a layer are.

    Example:

    ```mlir
    %1 = remat.region (%a = %0 : tensor<8x8xf32>, %b = %w0 : tensor<8x8xf32>) -> tensor<8x8xf32> attributes {label = "layer0"} {...}
    %2 = remat.region (%a = %1 : tensor<8x8xf32>, %b = %w1 : tensor<8x8xf32>) -> tensor<8x8xf32> attributes {label = "layer1"} {...}
    // becomes
    func.func private @layer(%0: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {no_inline} {
      %1 = remat.region (%a = %0 : tensor<8x8xf32>, %b = %w : tensor<8x8xf32>) -> tensor<8x8xf32> attributes {label = "layer"} {...}
      return %1 : tensor<8x8xf32>
    }
    ...
    %1 = call @layer(%0, %w0) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = call @layer(%1, %w1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let options = [
    Option<"minLayers", "min-layers", "int64_t", /*default=*/"8",
           "how many equal layers become a function">,
    Option<"minOps", "min-ops", "int64_t", /*default=*/"16",
           "how many operations such a layer has: small ones are better fused with their neighbours">,
    Option<"unlessBudget", "unless-budget", "bool", /*default=*/"false",
           "leave layers in place where a train step has a budget or accumulates eagerly">];
}

def JoinCalls : Pass<"remat-join-calls", "::mlir::ModuleOp"> {
  let summary = "join the forward and the backward of a called function";
  let description = [{
    `remat-differentiate` makes `@f_fwd`, which returns residuals, and `@f_bwd`,
    which takes them. Residuals are chosen where both are visible
    (`remat-reuse-results`, `remat-plan-functions`, `remat-fuse`): in
    `@f_joint`, which has the bodies of both, and their arguments and results
    except for residuals. `@f_fwd` and `@f_bwd` are declarations until
    `remat-split-calls`, with the attribute `remat.joint`; a `none` value
    connects each call of the forward with that of the backward.

    Two functions are a pair if all calls of the backward read results of a call of the
    forward directly, and if neither has other uses. Others stay as they are, such as
    those whose residuals go through tapes.

    Example:

    ```mlir
    %y, %r = call @f_fwd(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    ...
    %dw = call @f_bwd(%w, %r, %dy) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    // becomes
    func.func private @f_fwd(tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, none) attributes {remat.joint = @f_joint}
    func.func private @f_bwd(none, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {remat.joint = @f_joint, remat.reads = array<i64: 1>}
    func.func private @f_joint(%x: tensor<8xf32>, %w: tensor<8xf32>, %dy: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      ...
      remat.begin_backward
      ...
      return %y, %dw : tensor<8xf32>, tensor<8xf32>
    }
    %y, %token = call @f_fwd(%x, %w) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, none)
    ...
    %dw = call @f_bwd(%token, %w, %dy) : (none, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def SplitCalls : Pass<"remat-split-calls", "::mlir::ModuleOp"> {
  let summary = "split a joint function into its forward and its backward";
  let description = [{
    The inverse of `remat-join-calls`: the operations after `remat.begin_backward` of a
    joint function become the body of `@f_bwd`, the others that of `@f_fwd`, and the types
    of both follow. A forward value that the backward reads is a residual: a result of the
    forward, an argument of the backward. Constants, views and tensors without contents
    are recomputed, and a result of the function that the backward reads is not returned
    twice.

    Run it when the residuals are final.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

#endif // REMAT_TRANSFORMS_CALLS_PASSES_TD
