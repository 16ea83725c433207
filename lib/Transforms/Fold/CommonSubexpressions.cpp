//===- CommonSubexpressions.cpp - CSE that hashes captured values ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CSE compares operations whose hashes are equal, and hashes operands and
// attributes, but not the values that regions capture. All gathers by one array
// of indices then have one hash, whatever they gather from, and each is
// compared with all earlier ones. An attribute makes the captured values part
// of the hash while CSE runs.
//===----------------------------------------------------------------------===//

#include "mlir/Transforms/CSE.h"

#include "Steps.h"

#include "remat/Analysis/EqualValues.h"
#include "remat/Transforms/Fold/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::remat {
#define GEN_PASS_DEF_COMMONSUBEXPRESSIONSPASS
#include "remat/Transforms/Fold/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

static constexpr StringLiteral kReadHash = "remat.read_hash";

/// Returns true if the regions of `op` may capture values, which CSE would not
/// hash.
static bool mayRead(Operation *op) {
  return op->getNumRegions() > 0 && op->getNumResults() > 0 &&
         !op->mightHaveTrait<OpTrait::IsIsolatedFromAbove>();
}

namespace {
/// Operations that CSE would merge get the same hash, also where only CSE
/// itself finds out that they capture the same values: values are numbered by
/// how they are computed. Others may share a hash by chance.
class ReadHashes {
public:
  void visit(Operation *op) {
    for (Region &region : op->getRegions())
      visit(region);
    if (op->getNumResults() == 0)
      return;
    // A sum, as operands of commutative operations may be in any order.
    size_t hash = mayRead(op) ? annotate(op) : 0;
    for (Value operand : op->getOperands())
      hash += lookUp(operand);
    for (OpResult result : op->getResults())
      hashes[result] = llvm::hash_combine(op->getName().getAsOpaquePointer(),
                                          op->hashProperties(), hash,
                                          result.getResultNumber());
  }

private:
  void visit(Region &region) {
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        hashes[argument] =
            llvm::hash_combine(argument.getArgNumber(), argument.getType());
      for (Operation &op : block)
        visit(&op);
    }
  }

  /// Where blocks are not in the order of dominance, a value may be unknown.
  llvm::hash_code lookUp(Value value) const {
    auto it = hashes.find(value);
    return it == hashes.end() ? hash_value(value.getType()) : it->second;
  }

  size_t annotate(Operation *op) {
    size_t hash = hashReads(op, [&](Value value) { return lookUp(value); });
    if (hash)
      op->setAttr(kReadHash,
                  Builder(op->getContext())
                      .getI64IntegerAttr(static_cast<int64_t>(hash)));
    return hash;
  }

  DenseMap<Value, llvm::hash_code> hashes;
};

/// The operations that this pass handles beside CSE; in most programs there are
/// none.
struct Extras {
  explicit Extras(Operation *root) {
    root->walk([&](Operation *op) {
      hasAsserts |= isa<cf::AssertOp>(op);
      hasReads = hasReads || (mayRead(op) && hashReads(op, [](Value) {
                                return llvm::hash_code(1);
                              }));
      return hasAsserts && hasReads ? WalkResult::interrupt()
                                    : WalkResult::advance();
    });
  }
  bool hasReads = false, hasAsserts = false;
};

/// Removes the hashes and all but the first of equal assertions in a block, as
/// the first one dominates the others.
void cleanUp(Operation *root) {
  SmallVector<cf::AssertOp> repeated;
  root->walk([&](Block *block) {
    SmallPtrSet<Value, 4> asserted;
    for (Operation &op : *block) {
      if (op.getNumRegions() > 0)
        op.removeAttr(kReadHash);
      auto assertion = dyn_cast<cf::AssertOp>(op);
      if (assertion && !asserted.insert(assertion.getArg()).second)
        repeated.push_back(assertion);
    }
  });
  for (cf::AssertOp assertion : repeated)
    assertion.erase();
}

struct CommonSubexpressionsPass
    : mlir::remat::impl::CommonSubexpressionsPassBase<
          CommonSubexpressionsPass> {
  void runOnOperation() override {
    mergeCommonSubexpressions(getOperation(), getAnalysis<DominanceInfo>());
    markAnalysesPreserved<DominanceInfo, PostDominanceInfo>();
  }
};
} // namespace

void mlir::remat::mergeCommonSubexpressions(Operation *root,
                                            DominanceInfo &dominance) {
  Extras extras(root);
  if (extras.hasReads)
    ReadHashes().visit(root);
  IRRewriter rewriter(root);
  eliminateCommonSubExpressions(rewriter, dominance, root);
  if (extras.hasReads || extras.hasAsserts)
    cleanUp(root);
}
