//===- Passes.td ------------------------------------------*- tablegen -*-===//

#ifndef REMAT_TRANSFORMS_MATERIALIZE_PASSES_TD
#define REMAT_TRANSFORMS_MATERIALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def InlineRegions : Pass<"remat-inline-regions"> {
  let summary = "splice the bodies of regions and backwards into their parents";
  let description = [{
    In: decisions are materialized: what a `remat.backward` reads is what is
    saved. Out: flat IR, in the order in which it stood, without
    `remat.region`, `remat.backward` and `remat.name`. Barriers stay: they alone
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
