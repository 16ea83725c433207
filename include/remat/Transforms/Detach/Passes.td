//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_DETACH_PASSES_TD
#define REMAT_TRANSFORMS_DETACH_PASSES_TD

include "mlir/Pass/PassBase.td"

def DetachMaximaPass : Pass<"remat-detach-maxima"> {
  let summary = "maxima that no result depends on have no gradient";
  let description = [{
    `m + log(sum(exp(x - m)))` and `d - log(sum(exp(d)))` with `d = x - m` are the
    same for any m: the maximum of x in its place only keeps `exp` in range. Its
    gradient is zero, but the backward does not know, and searches for the
    maximum once more, to add up terms that cancel. This pass says so by a
    `remat.stop_gradient` between the maximum and its readers.

    Whether results depend on a maximum follows from the arithmetic: if it were t
    larger, each number would be by a multiple of t larger, or by a power of e^t
    times as large, or the same. The analysis follows the maximum through kernels,
    however these are split, sums along rows, reshapes, names and regions, to
    where everything is the same; at anything else the maximum stays as it is.

    Run before fusion, after `remat-raise-softmax`. No value of the forward changes.

    Example: in the log-sum-exp of rows

    ```mlir
    %m = linalg.reduce { arith.maximumf } ins(%x : tensor<4x8xf32>) outs(%low : tensor<4xf32>) dimensions = [1]
    ```

    gets, for all its readers,

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
    derivative of zero by `m`: it is least there. A `remat.stop_gradient` on the
    mean says so. The backward would otherwise add up `c * (x - m)` to find it,
    after the sums by which it finds `c`: each norm would read `x` once more.

    The mean is a sum over the same elements, divided by their number or times
    its reciprocal; roundings, names and borders of regions may stand in between.
    The square is a product or a power; constant factors may follow it. Differences that
    something else reads as well, as in most layer norms, are computed twice, once for the sum:
    fusion makes nothing of the second computation but registers.

    What stays: weighted sums, means over other elements, and sums
    divided by another number; sizes that are not known. Differences that leave a region
    before they are squared or added up are computed again behind it.

    Run before fusion and differentiation. No value of the forward changes; gradients
    lose a term that is zero but for its rounding.

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
