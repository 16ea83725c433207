//===- Passes.td ------------------------------------------*- tablegen -*-===//

#ifndef REMAT_TRANSFORMS_MATERIALIZE_PASSES_TD
#define REMAT_TRANSFORMS_MATERIALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Materialize : Pass<"remat-materialize", "::mlir::ModuleOp"> {
  let summary = "recompute in the backward what policies do not let it save";
  let description = [{
    In: a joint function in which every value that a `remat.backward` reads is a
    residual of its `remat.region` (`remat-differentiate` makes it; so may
    anybody else). Out: the same with the residuals gone that the regions'
    policies forbid.

    For each region, inner ones first, the slice of its body that leads to the
    forbidden residuals is cloned into the backward: it goes back to the region's
    operands and to values that the policy permits, which become residuals if
    they are not yet. A value is saved only if the backward needs it. What costs
    nothing to compute from values that are no bigger (constants, fills, views,
    random draws, and whatever says so in its `RecomputeCostOpInterface`) is never
    saved. The clones carry `remat.phase = "recompute"`,
    stand in front of their first reader, and read what they start from through
    one `remat.barrier` on the backward's cotangents: those operands of the
    backward that are neither operands nor residuals of the region.

    Residuals are followed, and new ones sent, through the borders of outer
    regions (whose policies judge them in turn), through tapes of `scf.for` loops
    and through results and arguments of called functions. In a backward loop,
    index arithmetic and slices of loop-invariant tensors are recomputed rather
    than taped. A residual whose path is not understood stays saved, with a
    warning.

    Finally, everything that nobody reads any more is removed: operations,
    results, operands, tapes.

    An operation with side effects happens once per step. It is left out of a
    recompute if nothing needs its results, and refused otherwise. A function
    without a body counts as pure if it has the unit attribute `remat.pure`.

    Example, under the default policy:

    ```mlir
    %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
      %0 = math.sin %a : f32
      %1 = math.sin %0 : f32
      remat.yield %1 : f32 residuals(%0 : f32)
    }
    %dx = remat.backward (%a = %x : f32, %s = %r : f32, %dy = %ct : f32) -> f32 {
      %c = math.cos %s : f32
      ...
    ```

    becomes

    ```mlir
    %y = remat.region (%a = %x : f32) -> f32 { ... }
    %dx = remat.backward (%a = %x : f32, %dy = %ct : f32) -> f32 {
      %b = remat.barrier %a after %dy {remat.phase = "recompute"} : f32 after f32
      %s = math.sin %b {remat.phase = "recompute"} : f32
      %c = math.cos %s : f32
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

def InlineRegions : Pass<"remat-inline-regions"> {
  let summary = "splice the bodies of regions and backwards into their parents";
  let description = [{
    In: decisions are materialized: what a `remat.backward` reads is what is
    saved. Out: flat IR, in the order in which it stood, without
    `remat.region`, `remat.backward`, `remat.name` and `remat.stop_gradient`. Barriers stay: they alone
    keep a recompute apart from the original from here on. Operations of a
    backward that carry no phase yet get `remat.phase = "backward"`.

    Idempotent, and a no-op without regions.

    Example:

    ```mlir
    %dx = remat.backward (%a = %x : tensor<4xf32>, %dy = %ct : tensor<4xf32>) -> tensor<4xf32> {
      %b = remat.barrier %a after %dy : tensor<4xf32> after tensor<4xf32>
      %0 = math.sin %b : tensor<4xf32>
      ...
    ```

    becomes

    ```mlir
    %b = remat.barrier %x after %ct : tensor<4xf32> after tensor<4xf32>
    %0 = math.sin %b : tensor<4xf32>
    ...
    ```
  }];
}

def LowerTapes : Pass<"remat-lower-tapes"> {
  let summary = "tapes become slices of tensors";
  let description = [{
    In: `remat.tape_write` and `remat.tape_read`. Out: `tensor.insert_slice` and
    `tensor.extract_slice` (`tensor.insert` and `tensor.extract` for a tape of
    scalars or vectors), which bufferize in place: the tape is the one buffer
    that the loop carries.

    Example: `remat.tape_read %t[%i] : tensor<10x4xf32> -> tensor<4xf32>` becomes
    `tensor.extract_slice %t[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>`.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

#endif // REMAT_TRANSFORMS_MATERIALIZE_PASSES_TD
