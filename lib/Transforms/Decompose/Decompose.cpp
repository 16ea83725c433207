//===- Decompose.cpp - Expand decomposable operations ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tapes, residuals of branches, states of random generators and memory plans
// know the loops and branches of scf. Any other operation with a body would
// need a case in each of these; as a loop of scf it needs none.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Decompose/DecomposableOpInterface.h"
#include "remat/Transforms/Decompose/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::remat {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "remat/Transforms/Decompose/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

#include "remat/Transforms/Decompose/DecomposableOpInterface.cpp.inc"

namespace {
/// Passes the attributes of `op` on to the operations that replace it.
class AttributeKeeper : public RewriterBase::Listener {
public:
  explicit AttributeKeeper(Operation *op) : op(op), phases(getPhase(op)) {}

  bool isErased() const { return erased; }

private:
  void notifyOperationInserted(Operation *inserted,
                               OpBuilder::InsertPoint previous) override {
    phases.notifyOperationInserted(inserted, previous);
    made.insert(inserted);
  }
  void notifyOperationReplaced(Operation *replaced,
                               ValueRange values) override {
    Operation *by = replaced == op && !values.empty()
                        ? values.front().getDefiningOp()
                        : nullptr;
    if (made.contains(by))
      copyAttributes(op, by);
  }
  void notifyOperationErased(Operation *gone) override { erased |= gone == op; }

  Operation *op;
  PhaseListener phases;
  DenseSet<Operation *> made;
  bool erased = false;
};
} // namespace

/// The depth to which the results of a decomposition are decomposed: an
/// operation that expands into itself would never end.
static constexpr unsigned kMaxRounds = 32;

void mlir::remat::decomposeIn(Operation *root) {
  bool changed = true;
  for (unsigned round = 0; changed && round < kMaxRounds; ++round) {
    changed = false;
    SmallVector<DecomposableOpInterface> ops;
    root->walk([&](DecomposableOpInterface op) {
      if (op != root)
        ops.push_back(op);
    });
    for (DecomposableOpInterface op : ops) {
      AttributeKeeper keeper(op);
      PatternRewriter rewriter(op->getContext());
      rewriter.setListener(&keeper);
      rewriter.setInsertionPoint(op);
      // An implementation that reports success but leaves the operation in
      // place must not be called forever.
      changed |= succeeded(op.decompose(rewriter)) && keeper.isErased();
    }
  }
}

namespace {
struct DecomposePass : remat::impl::DecomposePassBase<DecomposePass> {
  void runOnOperation() override {
    WalkResult found = getOperation()->walk(
        [](DecomposableOpInterface) { return WalkResult::interrupt(); });
    if (!found.wasInterrupted())
      return markAllAnalysesPreserved();
    decomposeIn(getOperation());
  }
};
} // namespace
