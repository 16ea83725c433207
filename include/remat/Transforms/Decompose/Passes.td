//===- Passes.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_DECOMPOSE_PASSES_TD
#define REMAT_TRANSFORMS_DECOMPOSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposePass : Pass<"remat-decompose"> {
  let summary = "expand operations into loops, branches and kernels";
  let description = [{
    Replaces operations with `DecomposableOpInterface`, from the inside out:
    loops and branches of other dialects by those of `scf`, which all later
    passes know, and operations on tensors by kernels. Run it before inlining
    and before random generators are threaded, so that both reach into the
    bodies. `remat-check-indices`, `remat-fuse` and `remat-differentiate` start
    with the same rewrite.

    | upstream's | becomes |
    |---|---|
    | `scf.forall` that inserts slices, `scf.parallel` with results, `tensor.scatter` | a nest of `scf.for` |
    | `tensor.generate`, `tensor.gather`, `tensor.pad` whose value is not a constant | `linalg.generic` |
    | `tensor.bitcast` | `arith.bitcast` |
    | `arith.constant` of no elements | `tensor.empty` |
    | `linalg.pack`, `linalg.unpack` | transpositions, views, `tensor.pad` |

    Example:

    ```mlir
    %y = scf.forall (%i) in (4) shared_outs(%o = %x) -> (tensor<4x8xf32>) {
      %s = tensor.extract_slice %w[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %s into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
      }
    }
    // becomes
    %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%o = %x) -> (tensor<4x8xf32>) {
      %s = tensor.extract_slice %w[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
      %next = tensor.insert_slice %s into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
      scf.yield %next : tensor<4x8xf32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // REMAT_TRANSFORMS_DECOMPOSE_PASSES_TD
