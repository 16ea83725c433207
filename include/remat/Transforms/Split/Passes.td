//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_SPLIT_PASSES_TD
#define REMAT_TRANSFORMS_SPLIT_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitPass : Pass<"remat-split", "::mlir::ModuleOp"> {
  let summary = "from a step for the whole batch to that of one rank";
  let description = [{
    In: a module with a `shard.grid` whose axes have names, and functions whose arguments say by
    `remat.shard` which of their dimensions are split along which axis. Out: the same functions on
    what one rank has, with `remat.all_reduce` and `remat.all_gather` where ranks need each other.
    Functions without `remat.shard`, and modules without a grid, are left alone.

    ```mlir
    shard.grid @mesh(shape = 2x2) {remat.axes = ["data", "model"], remat.parts = [4, 2]}
    func.func @loss(%x: tensor<64x256xf32> {remat.data = "x", remat.shard = [["data"]]},
                    %up: tensor<256x1024xf32> {opt.param = "up", remat.shard = [[], ["model"]]}, ...)
    ```

    *Shardings.* Dimensions that an operation goes through by one loop are split alike, in its
    operands and its results, and so from one operation to the next through regions, loops,
    branches, backwards and tapes: a cotangent is split as its value. Constants, fills and tensors
    without contents have no say, and are what their users want. What has no rule is computed for
    the whole batch on each rank, after a gather, with a warning that names it; so is a dimension that the
    parts of its axis do not divide. No axis splits two dimensions of one tensor.

    *Arguments.* Data come as the rows of this rank. Parameters and states come, and gradients and next
    states leave, as a whole; each rank works with the part that `remat.shard` gives it. Results
    that are neither are those of this rank.

    *Sums.* A reduction over a split dimension is one for each of the axis' `remat.parts` (by default,
    one for each rank; the ranks divide them), in the order for a part's size, and these are
    combined pairwise, neighbours first: those of one rank here, those of several by
    `remat.all_reduce`. So the parts decide the bits, whatever the number of ranks. What the
    reduction starts from is combined with the result.

    *Positions.* `linalg.index` along a split dimension counts from the rank's first row of the whole, so
    that masks and random numbers are those of the whole batch.

    Run after differentiation, which knows nothing of ranks, and before `remat-plan`, for which a
    gathered or reduced value is a residual like any other.

    Example: the weight's gradient of a layer with two ranks and four parts.

    ```mlir
    %0 = tensor.extract_slice %x[0, 0] [16, 256] [1, 1] : tensor<32x256xf32> to tensor<16x256xf32>
    %1 = tensor.extract_slice %dy[0, 0] [16, 8] [1, 1] : tensor<32x8xf32> to tensor<16x8xf32>
    %2 = linalg.generic ... ins(%0, %1 ...)
    %3 = linalg.generic ... // rows 16 to 31
    %4 = linalg.generic ... ins(%2, %3 ...) // their sum
    %5 = remat.all_reduce sum ... ins(%4 : tensor<256x8xf32>) ...
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::remat::RematDialect",
    "::mlir::tensor::TensorDialect"];
}

#endif // REMAT_TRANSFORMS_SPLIT_PASSES_TD
