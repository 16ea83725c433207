//===- RematScatterOps.td - Additions at computed positions ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REMATSCATTEROPS_TD
#define REMAT_DIALECT_REMAT_IR_REMATSCATTEROPS_TD

include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/Dialect/Remat/IR/RematDialect.td"

def Remat_TensorOrBuffer : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef],
    "ranked tensor or strided memref">;

def Remat_ScatterAddOp : Op<Remat_Dialect, "scatter_add", [
    DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    RecursiveMemoryEffects, DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    SingleBlockImplicitTerminator<"::mlir::remat::YieldOp">]> {
  let summary = "add the elements of a tensor to another one, at computed positions";
  let description = [{
    The adjoint of a gather: the gradient of an embedding's table. In a model, the
    sums of a graph's edges at its nodes. For each position in `updates`, the body
    yields the position of `init`, one index for each dimension, to which the
    element is added; it may read tensors from around the operation. Positions
    may coincide: additions to one element are made in the lexicographic order of
    the positions in `updates`, so that the sum has the same bits on every target. Updates of f16 or bf16 may be added to a wider
    type.

    A dimension of `init` whose index is an argument of the body itself is added
    to as a whole row where no other index depends on that argument.

    On memrefs `init` is read and written, and there is no result. No two elements
    of `init` may share memory, and neither the updates nor what the body reads may
    be in that of `init`.

    Its own adjoint is a gather. `remat-check-indices` asserts in the body that
    positions which are data are in range, and `remat-hoist-asserts` moves that in
    front of the operation.

    On memrefs, `convert-scatter-add-to-loops` is its lowering for the CPU, and
    `convert-linalg-to-gpu-kernels` that for CUDA.

    Example: row `tokens[i]` of the result is row `tokens[i]` of the table plus
    row i of the updates.

    ```mlir
    %sum = remat.scatter_add ins(%updates : tensor<5x8xf32>) outs(%table : tensor<100x8xf32>) {
    ^bb0(%i: index, %j: index):
      %token = tensor.extract %tokens[%i] : tensor<5xi64>
      %row = arith.index_cast %token : i64 to index
      remat.yield %row, %j : index, index
    } -> tensor<100x8xf32>
    ```
  }];
  let arguments = (ins Remat_TensorOrBuffer:$updates, Remat_TensorOrBuffer:$init);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `ins` `(` $updates `:` type($updates) `)` `outs` `(` $init `:` type($init) `)`
    attr-dict-with-keyword $body (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
    /// The indices into `init` that the body makes.
    ::mlir::OperandRange getIndices();
    /// The same at `position` in the updates, by a copy of the body, but for
    /// operations whose results `mapping` has.
    ::llvm::SmallVector<::mlir::Value>
    computeIndices(::mlir::OpBuilder &builder, ::mlir::ValueRange position,
                   ::mlir::IRMapping &mapping);
  }];
}

#endif // REMAT_DIALECT_REMAT_IR_REMATSCATTEROPS_TD
