//===- Passes.td ------------------------------------------*- tablegen -*-===//

#ifndef REMAT_TRANSFORMS_PLAN_PASSES_TD
#define REMAT_TRANSFORMS_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def Plan : Pass<"remat-plan", "::mlir::ModuleOp"> {
  let summary = "decide for each residual whether it is kept or computed again";
  let description = [{
    In: a joint function in which every value that a `remat.backward` reads is a
    residual of its `remat.region` (`remat-differentiate` makes it; so may
    anybody else). Out: the same program with a `remat.plan` at the start of each
    backward, which says for each residual whether it is saved or computed again,
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

def PrintPlan : Pass<"remat-print-plan", "::mlir::ModuleOp"> {
  let summary = "print a table of what backwards keep and compute again, and why";
  let description = [{
    In: what `remat-plan` leaves. Out: the same. Prints to the standard error, for
    each region, a line for each value that its backward needs: bytes (times the
    iterations of the loops around it), whether it is saved or computed again,
    what an evaluation costs (in scalar operations, see
    `RecomputeCostOpInterface`), who decided and why, and the line of the model.
    After that come, for each function, the values outside of regions that the backward reads:
    no policy judges these.

    The pipeline `--remat-explain` runs everything up to `remat-plan` and this.

    Example:

    ```
    region "block0" at model.mlir:12, policy #remat.dots_saveable
      value          decision   bytes  cost  by                    because        at
      linalg.matmul  save       65536        #remat.dots_saveable  permitted      model.mlir:15
      "act"          recompute  65536  16384 #remat.dots_saveable  not permitted  model.mlir:17
    ```
  }];
}

#endif // REMAT_TRANSFORMS_PLAN_PASSES_TD
