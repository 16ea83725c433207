//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_DETACH_PASSES_TD
#define REMAT_TRANSFORMS_DETACH_PASSES_TD

include "mlir/Pass/PassBase.td"

def DetachMaximaPass : Pass<"remat-detach-maxima"> {
  let summary = "maxima that no result depends on have no gradient";
  let description = [{
    `m + log(sum(exp(x - m)))` and `d - log(sum(exp(d)))` with `d = x - m` are the same
    for any m: choosing the maximum of x only keeps `exp` in range. Its gradient is zero,
    but without this pass the backward locates the maximum once more, to add up terms that
    cancel. The pass puts a `remat.stop_gradient` between the maximum and its users.

    Whether results depend on a maximum follows from the arithmetic: if it were larger by
    t, each number computed from it would grow by a multiple of t, be scaled by a power of
    e^t, or stay the same. The analysis follows the maximum through kernels, however these
    are split, sums along rows, reshapes, names and regions, until all numbers stay the
    same; at any other operation it gives up, and the maximum keeps its gradient.

    Run before fusion, after `remat-raise-softmax`. No value of the forward changes.

    Example: in the log-sum-exp of rows

    ```mlir
    %m = linalg.reduce { arith.maximumf } ins(%x : tensor<4x8xf32>) outs(%low : tensor<4xf32>) dimensions = [1]
    ```

    gets, for all its users,

    ```mlir
    %d = remat.stop_gradient %m : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::remat::RematDialect"];
}

def DetachMeansPass : Pass<"remat-detach-means"> {
  let summary = "stop the gradient of the mean in a variance";
  let description = [{
    The sum of `(x - m) * (x - m)` over elements of which `m` is the mean has a
    derivative of zero with respect to `m`, as it is minimal there. A
    `remat.stop_gradient` on the mean says so. The backward would otherwise add
    up `c * (x - m)` for it, after the sums that `c` is computed from: each norm
    would read `x` once more.

    The mean is a sum over the same elements, divided by their number or times its reciprocal;
    roundings, names and borders of regions may stand in between. The square is a product or a
    power; constant factors may follow it. Differences that have other users, as in most layer
    norms, are computed twice, once for the sum: fusion keeps the second computation in registers.

    Left alone are weighted sums, means over other elements, sums divided by another
    number, and sizes that are not known. Differences that leave a region before they are
    squared or added up are recomputed after it.

    Run before fusion and differentiation. No value of the forward changes; gradients lose
    a term that is zero up to rounding.

    Example:

    ```mlir
    %m = remat.stop_gradient %mean : tensor<64xf32>
    %squares = linalg.generic {...} ins(%x, %m : tensor<32x64xf32>, tensor<64xf32>) ... {
    ^bb0(%a: f32, %b: f32, %sum: f32):
      %d = arith.subf %a, %b : f32
      %s = arith.mulf %d, %d : f32
      ...
    ```
  }];
  let dependentDialects = ["::mlir::remat::RematDialect"];
}

#endif // REMAT_TRANSFORMS_DETACH_PASSES_TD
