//===- DecomposableOpInterface.td - Decomposable operations *- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_DECOMPOSE_DECOMPOSABLEOPINTERFACE_TD
#define REMAT_TRANSFORMS_DECOMPOSE_DECOMPOSABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::mlir::remat";
  let description = [{
    An operation that training replaces by others before it is analyzed, such as
    a loop or a branch of a third dialect by `scf.for` or `scf.if`. It is then
    differentiated through its body, the body's values are saved or
    rematerialized by the policies of the regions in and around it, and random
    generators, tapes, fusion and memory planning work in it: all of these know
    the loops and branches of `scf`.

    Upstream's operations are external models of this interface
    (`remat::registerDecomposableExternalModels`): `scf.forall`, `scf.parallel`,
    `tensor.scatter`, `tensor.gather`, `tensor.generate` and others. A third
    party's dialect implements it in the same way. An operation needs this
    interface or `DifferentiableOpInterface`; if it has both, this one takes
    precedence.

    Upstream's `linalg::AggregatedOpInterface` is different: an aggregate stays
    one operation until the residuals are chosen, and has a derivative as a
    whole.

    Example, for an operation `my.repeat` with a number of iterations, initial
    values and a body of one block that ends in a `my.yield`:

    ```c++
    LogicalResult RepeatOp::decompose(PatternRewriter &rewriter) {
      Value zero = arith::ConstantIndexOp::create(rewriter, getLoc(), 0);
      Value one = arith::ConstantIndexOp::create(rewriter, getLoc(), 1);
      auto loop = scf::ForOp::create(rewriter, getLoc(), zero, getCount(), one, getInits(),
                                     [](OpBuilder &, Location, Value, ValueRange) {});
      Operation *yield = getBody().front().getTerminator();
      rewriter.mergeBlocks(&getBody().front(), loop.getBody(), loop.getRegionIterArgs());
      rewriter.setInsertionPoint(yield);
      rewriter.replaceOpWithNewOp<scf::YieldOp>(yield, yield->getOperands());
      rewriter.replaceOp(*this, loop);
      return success();
    }
    ```
  }];
  let methods = [
    InterfaceMethod<[{
        Replaces this operation. The insertion point of `rewriter` is in front
        of it, and the body of any rewrite pattern will do. The new operations
        may be decomposable, too; decomposable operations in the regions have
        been replaced before. The dialects of the new operations are dependent
        dialects of this operation's dialect.

        The driver gives the phase of this operation to all new operations, and
        its other discardable attributes to the one that replaces its first
        result. On failure nothing may have been changed, and the operation
        stays.
      }], "::llvm::LogicalResult", "decompose",
      (ins "::mlir::PatternRewriter &":$rewriter)>,
  ];
}

#endif // REMAT_TRANSFORMS_DECOMPOSE_DECOMPOSABLEOPINTERFACE_TD
