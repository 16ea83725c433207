//===- Decompose.cpp - Operations replaced by their parts -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tapes, residuals of branches, states of random generators and plans of memory
// know the loops and branches of scf. Whatever else has a body would need a way
// through each of these; as a loop of scf it needs none.
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
/// Passes the attributes of `op` on to what replaces it.
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

/// What an operation is made of may be decomposable, to this depth: one that
/// makes itself again would take for ever.
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
      // Who says that it has succeeded, and leaves the operation, is not asked
      // for ever.
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
