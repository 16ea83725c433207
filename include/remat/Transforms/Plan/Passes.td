//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PLAN_PASSES_TD
#define REMAT_TRANSFORMS_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def Plan : Pass<"remat-plan", "::mlir::ModuleOp"> {
  let summary = "decide for each residual whether it is saved or recomputed";
  let description = [{
    In: a joint function in which every value that a `remat.backward` reads is a
    residual of its `remat.region` (made by `remat-differentiate`, or in another
    way). Out: the same program with a `remat.plan` at the start of each
    backward, which says for each residual whether it is saved or recomputed,
    who decided so, and from which values a recompute starts; these have become
    residuals or operands of the backward. `remat-materialize` executes that.

    For each region, inner ones first, the slice of its body that leads to the
    residuals that its policy forbids goes back to the region's
    operands and to values that the policy permits, which become residuals if
    they are not yet. A value is saved only if the backward needs it. What costs
    nothing to compute from values that are no bigger (constants, fills, views,
    random draws, and whatever says so in its `RecomputeCostOpInterface`) is never
    saved.

    Residuals are followed, and new ones sent, through the borders of outer
    regions (whose policies judge them in turn), through tapes of `scf.for` loops
    and through results and arguments of called functions. In a backward loop,
    index arithmetic and slices of loop-invariant tensors are recomputed rather
    than taped. A residual whose path is not understood stays saved, with a
    warning.

    An operation with side effects happens once per step. It is left out of a
    recompute if nothing needs its results, and refused otherwise. A function
    without a body counts as pure if it has the unit attribute `remat.pure`.

    Backwards that have a plan keep it. Example, under the default policy:

    ```mlir
    %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
      %0 = math.sin %a : f32
      %1 = math.sin %0 : f32
      remat.yield %1 : f32 residuals(%0 : f32)
    }
    %dx = remat.backward (%a = %x : f32) residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
      %c = math.cos %s : f32
      ...
    ```

    becomes

    ```mlir
    %dx = remat.backward (%a = %x : f32) residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
      %p = remat.plan %s from %a : f32 from f32
          [#remat.decision<recompute by "#remat.nothing_saveable" because "not permitted">]
      %c = math.cos %p : f32
      ...
    ```
  }];
  let options = [
    Option<"report", "report", "bool", "false",
           "Emit a remark for each region: values and bytes saved, operations recomputed and what they cost">,
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect",
                           "::mlir::scf::SCFDialect"];
}

def PlanFunctions : Pass<"remat-plan-functions", "::mlir::ModuleOp"> {
  let summary = "decide for each value that a function's backward reads whether the forward keeps it";
  let description = [{
    In: a joint function without regions, with a `remat.begin_backward`: the result
    of `remat-inline-regions`, before its kernels are fused. Out: the same
    with one `remat.plan` between forward and backward, through which every
    tensor goes that the one computes and the other reads, with a decision about
    each. Constants, fills and draws are not among these: kernels compute them.

    Policies have decided what may be saved. Some of these values are recomputed
    all the same, since that is cheaper:

    - results of an elementwise operation, cheap to evaluate (at most 8 operations,
      together with recomputed ones that depend on it, and none of them expensive),
      that is fused into all kernels that read it, if the backward keeps at most one
      tensor in its place, no bigger;
    - a view, whose source is decided about in turn;
    - a `tensor.pad` with a constant whose source the backward reads anyway, or
      to which padding adds an eighth or more. Convolutions that pad by themselves
      (`remat-fuse-padding`) have no such tensor; poolings and convolutions that
      that pass leaves alone do;
    - masks and indices that a few operations compute from available values:
      arguments, constants, and residuals of the backward;
    - floating-point numbers wider than all available values from which at most one
      reduction computes them: the means in `f64` from which torch-mlir computes a
      variance in `f32`;
    - values that elementwise kernels compute from available ones, although that
      takes a kernel in the backward, while all of these take no more than a 25th
      of the step (`remat/Analysis/Cost.h`), and only where the peak is. A
      value that its policy names is not among them.

    Everything else is saved. `remat-materialize` executes these decisions;
    `remat-inline-regions`, after fusion, removes the plan. Functions that have
    one keep it.

    Example: of

    ```mlir
    %p = tensor.pad %x low[0, 3] high[0, 3] { ... } : tensor<8x8xf32> to tensor<8x14xf32>
    %y = linalg.conv_1d ins(%p, %w : ...) ...
    %dw = linalg.generic {...} ins(%p, %dy : ...) ...
    ```

    the last operation gets

    ```mlir
    %q = remat.plan %p : tensor<8x14xf32>
        [#remat.decision<rebuild by "function" because "cheap to make of what is kept anyway">]
    %dw = linalg.generic {...} ins(%q, %dy : ...) ...
    ```

    and `remat-materialize` makes of it

    ```mlir
    %x1 = remat.barrier %x after %dy : ...
    %p1 = tensor.pad %x1 low[0, 3] high[0, 3] { ... } : tensor<8x8xf32> to tensor<8x14xf32>
    %dw = linalg.generic {...} ins(%p1, %dy : ...) ...
    ```
  }];
  let dependentDialects = ["::mlir::remat::RematDialect"];
}

def PrintPlan : Pass<"remat-print-plan", "::mlir::ModuleOp"> {
  let summary = "print a table of what backwards keep and recompute, and why";
  let description = [{
    In: the result of `remat-plan` or `remat-plan-functions`. Out: the same. Prints
    to the standard error, for each plan, a line for each value that the backward
    needs: bytes (times the iterations of the loops around it), whether it is
    saved or recomputed, the cost of an evaluation (in scalar operations, see
    `RecomputeCostOpInterface`), who decided and why, and the line of the model.

    A function without regions and plan, such as the final program's, gets a table
    of what its backward keeps: tensors that the forward makes and that operations
    of the backward (those with a `remat.phase`, and what depends on them) read.

    The pipeline `--remat-explain` runs everything up to `remat-plan` and this,
    with `again-only`, then everything up to `remat-plan-functions` and this once
    more: each value is in one table, that of the region that recomputes it or of
    the function that keeps it.

    Example:

    ```
    region "block0" at model.mlir:12, policy #remat.dots_saveable
      value          decision   bytes  cost  by                    because        at
      linalg.matmul  save       65536        #remat.dots_saveable  permitted      model.mlir:15
      "act"          recompute  65536  16384 #remat.dots_saveable  not permitted  model.mlir:17
    ```
  }];
  let options = [
    Option<"againOnly", "again-only", "bool", "false",
           "Of regions, only what their backward recomputes; the plan of the "
           "function has the rest">,
  ];
}

#endif // REMAT_TRANSFORMS_PLAN_PASSES_TD
