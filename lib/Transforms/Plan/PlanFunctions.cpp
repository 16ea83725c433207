//===- PlanFunctions.cpp - Decide what a function's backward keeps --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions say what may be saved. The values of a function's forward that its
// backward reads are known only once regions are inlined and their code is
// kernels.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/BackwardBorder.h"
#include "remat/Analysis/Cost.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Plan/Passes.h"
#include "remat/Transforms/Plan/Residuals.h"

#include "CheapSlice.h"
#include "TimedRebuilds.h"

#include "remat/Transforms/Fuse/ElementwiseFusion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PLANFUNCTIONS
#include "remat/Transforms/Plan/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

namespace {
/// Plans the only block of a function.
class BlockPlanner {
public:
  /// `recorded` are decisions of regions.
  BlockPlanner(Block &block, const BackwardBorder &border,
               const DenseMap<Value, DecisionAttr> &recorded)
      : block(block), border(border), recorded(recorded) {}

  void run();

private:
  /// A value of the forward that the backward uses, or needs for another one.
  struct Residual {
    /// Uses in the backward.
    SmallVector<OpOperand *> uses;
    /// Kernels that read it once another residual, which is computed from it,
    /// is fused into them.
    SetVector<Operation *> laterUsers;
    /// The scalar operations that compute an element of that other residual
    /// from it.
    int64_t numLaterScalars = 0;
    /// Such a residual is a view of it.
    bool isViewed = false;
    /// It is fused into the kernels that read it.
    bool isFused = false;
    /// Others are recomputed from it, by more than a view.
    bool isStart = false;
    DecisionAttr decision;
  };

  void collectUses();
  void fuseOrView(Value value);
  void makeAgainOrSave(Value value);
  void makeAgainInTime();
  bool fusesIntoUsers(Value value, const Residual &residual,
                      SetVector<Value> &sources);
  bool isKept(Value value);
  bool isReadByForward(Value value);
  DecisionAttr makeDecision(DecisionKind kind, StringRef reason);
  void insertPlan();

  Block &block;
  const BackwardBorder &border;
  const DenseMap<Value, DecisionAttr> &recorded;
  /// The first operation of the backward that reads something of the forward.
  Operation *firstReader = nullptr;
  DenseMap<Value, Residual> residuals;
};
} // namespace

//===----------------------------------------------------------------------===//
// Uses in the backward
//===----------------------------------------------------------------------===//

/// Returns true if `value` is a tensor that may be kept.
static bool mayBeResidual(OpResult value) {
  return isa<TensorType>(value.getType()) &&
         !isWithoutContents(value.getOwner());
}

/// Returns true if fusion computes `value` in `user`, since its producer reads
/// no tensor.
static bool isMadeInUser(OpResult value, Operation *user) {
  auto producer = dyn_cast<LinalgOp>(value.getOwner());
  auto consumer = dyn_cast<LinalgOp>(user);
  return producer && consumer && readsNoTensor(producer) &&
         isFusableProducer(producer) && isFusableConsumer(consumer) &&
         canFuse(producer, consumer);
}

void BlockPlanner::collectUses() {
  for (Operation &op : block) {
    if (border.isInBackward(&op))
      return;
    for (OpResult result : op.getResults()) {
      if (!mayBeResidual(result))
        continue;
      for (OpOperand &use : result.getUses()) {
        Operation *user = use.getOwner();
        Operation *ancestor = block.findAncestorOpInBlock(*user);
        if (!border.isInBackward(ancestor) || isMadeInUser(result, user))
          continue;
        if (!firstReader || ancestor->isBeforeInBlock(firstReader))
          firstReader = ancestor;
        residuals[result].uses.push_back(&use);
      }
    }
  }
}

bool BlockPlanner::isKept(Value value) {
  return isa<BlockArgument>(value) || matchPattern(value, m_Constant()) ||
         residuals.contains(value);
}

bool BlockPlanner::isReadByForward(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !border.isInBackward(user);
  });
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// Returns true if the producer of `value` can be fused into all kernels that
/// read it, those of the backward among them, and the backward keeps at most
/// one value, no bigger, in its place.
bool BlockPlanner::fusesIntoUsers(Value value, const Residual &residual,
                                  SetVector<Value> &sources) {
  auto producer = value.getDefiningOp<LinalgOp>();
  if (!producer || residual.isViewed || !isFusableProducer(producer) ||
      !readsOneFullTensor(producer))
    return false;
  // Also together with the operations that are fused with it.
  std::optional<int64_t> scalars = countCheapScalars(producer);
  if (!scalars || *scalars + residual.numLaterScalars > kMaxCheapScalars)
    return false;
  SetVector<Operation *> users;
  for (Operation *user : producer->getUsers()) {
    users.insert(user);
    if (users.size() > kMaxUsers)
      return false;
  }
  for (Operation *user : users) {
    auto consumer = dyn_cast<LinalgOp>(user);
    if (!consumer || !canFuseCheaply(producer, consumer))
      return false;
  }
  for (Operation *user : residual.laterUsers)
    if (isOverwrittenBetween(producer, cast<LinalgOp>(user)))
      return false;
  unsigned numNew = 0;
  for (Value input : producer.getDpsInputs()) {
    auto result = dyn_cast<OpResult>(input);
    if (!result || !mayBeResidual(result) || isMadeInUser(result, producer) ||
        !sources.insert(input))
      continue;
    numNew += !isKept(input);
  }
  return numNew <= 1;
}

/// Returns true if the function returns `value`, or a view of it.
static bool isReturned(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<func::ReturnOp>(user) ||
           (isReshape(user) && isReturned(user->getResult(0)));
  });
}

DecisionAttr BlockPlanner::makeDecision(DecisionKind kind, StringRef reason) {
  MLIRContext *context = block.getParentOp()->getContext();
  return DecisionAttr::get(context, kind, /*of=*/{},
                           StringAttr::get(context, "function"),
                           StringAttr::get(context, reason));
}

/// Decides about `value` if it is fused into its users, or a view.
void BlockPlanner::fuseOrView(Value value) {
  Residual &residual = residuals[value];
  SetVector<Value> sources;
  if (fusesIntoUsers(value, residual, sources)) {
    residual.decision =
        makeDecision(DecisionKind::Rebuild, "fused into kernels that read it");
    residual.isFused = true;
    SetVector<Operation *> users = residual.laterUsers;
    for (OpOperand *use : residual.uses)
      users.insert(use->getOwner());
    int64_t scalars = residual.numLaterScalars +
                      *countCheapScalars(value.getDefiningOp<LinalgOp>());
    for (Value source : sources) {
      Residual &other = residuals[source];
      other.laterUsers.insert_range(users);
      other.numLaterScalars = std::max(other.numLaterScalars, scalars);
    }
    return;
  }
  Operation *op = value.getDefiningOp();
  if (!isReshape(op))
    return;
  residual.decision = makeDecision(DecisionKind::Rebuild, "a view");
  auto source = dyn_cast<OpResult>(op->getOperand(0));
  if (source && mayBeResidual(source))
    residuals[source].isViewed = true;
}

/// Decides about `value` if it is neither. Values that are fused into their
/// users are not available for the recomputation of others.
void BlockPlanner::makeAgainOrSave(Value value) {
  Residual &residual = residuals[value];
  auto isFused = [&](Value source) {
    auto it = residuals.find(source);
    return it != residuals.end() && it->second.isFused;
  };
  auto isThere = [&](Value source) {
    return isKept(source) && !isFused(source);
  };
  if (isReadByForward(value))
    if (std::optional<SetVector<Value>> sources =
            getCheapSlice(value, isThere, isFused)) {
      residual.decision = makeDecision(DecisionKind::Rebuild,
                                       "cheap to make of what is kept anyway");
      // Constants are not residuals: the backward recomputes them.
      for (Value source : *sources)
        if (auto result = dyn_cast<OpResult>(source);
            result && mayBeResidual(result))
          residuals[source].isStart = true;
      return;
    }
  residual.decision = recorded.lookup(lookThroughTapes(value));
  if (!residual.decision)
    residual.decision = recorded.lookup(value);
  if (!residual.decision)
    residual.decision =
        makeDecision(DecisionKind::Save, "read by the backward");
}

/// Decides once more about values that are to be saved: elementwise results may
/// be worth a kernel in the backward.
void BlockPlanner::makeAgainInTime() {
  SmallVector<TimedResidual> timed;
  DenseMap<Value, SmallVector<Operation *>> readers;
  for (Operation &op : llvm::reverse(block))
    for (OpResult result : llvm::reverse(op.getResults())) {
      auto it = residuals.find(result);
      if (it == residuals.end())
        continue;
      const Residual &residual = it->second;
      SmallVector<Operation *> users = readers.lookup(result);
      for (OpOperand *use : residual.uses)
        users.push_back(use->getOwner());
      bool isRebuilt = residual.decision.runsAgain();
      if (isRebuilt)
        for (Value operand : op.getOperands())
          llvm::append_range(readers[operand], users);
      bool mayBeRebuilt = residual.decision.getKind() == DecisionKind::Save &&
                          !users.empty() && !residual.isStart &&
                          !isReturned(result);
      timed.push_back({result, std::move(users), isRebuilt, mayBeRebuilt});
    }
  std::reverse(timed.begin(), timed.end());
  TimedRebuilds chosen = chooseTimedRebuilds(block, timed);
  for (Value value : chosen.rebuilt)
    residuals[value].decision = makeDecision(
        DecisionKind::Rebuild, "takes a small part of the step to make again");
  for (Value value : chosen.kept)
    residuals[value].decision =
        makeDecision(DecisionKind::Save, "others are made again of it");
}

void BlockPlanner::insertPlan() {
  SmallVector<Value> values;
  SmallVector<Attribute> decisions;
  for (Operation &op : block)
    for (OpResult result : op.getResults())
      if (auto it = residuals.find(result); it != residuals.end()) {
        values.push_back(result);
        decisions.push_back(it->second.decision);
      }
  OpBuilder builder(firstReader);
  auto plan = PlanOp::create(builder, block.getParentOp()->getLoc(), values,
                             ValueRange(), decisions);
  for (auto [value, result] : llvm::zip_equal(values, plan.getResults()))
    for (OpOperand *use : residuals[value].uses)
      use->set(result);
}

void BlockPlanner::run() {
  collectUses();
  if (residuals.empty())
    return;
  // From the end: operands of a recomputed value become residuals.
  for (Operation &op : llvm::reverse(block))
    for (OpResult result : op.getResults())
      if (residuals.contains(result))
        fuseOrView(result);
  for (Operation &op : llvm::reverse(block))
    for (OpResult result : op.getResults())
      if (auto it = residuals.find(result);
          it != residuals.end() && !it->second.decision)
        makeAgainOrSave(result);
  makeAgainInTime();
  insertPlan();
}

namespace {
struct PlanFunctionsPass : remat::impl::PlanFunctionsBase<PlanFunctionsPass> {
  void runOnOperation() override {
    BackwardBorder border(getOperation());
    DenseMap<Value, DecisionAttr> recorded =
        takeRecordedDecisions(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.getBody().hasOneBlock() &&
          function.getBody().front().getOps<PlanOp>().empty())
        BlockPlanner(function.getBody().front(), border, recorded).run();
  }
};
} // namespace
