//===- PrintPlan.cpp - Show what backwards keep, and why ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A user who wonders where the memory goes, or why something runs twice, should
// not have to read the program that passes left.
//===----------------------------------------------------------------------===//

#include "Tapes.h"
#include "remat/Analysis/BackwardBorder.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Plan/BackwardInputs.h"
#include "remat/Transforms/Plan/Passes.h"
#include "remat/Transforms/Plan/Residuals.h"
#include "remat/Transforms/Utils/Locations.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/Format.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PRINTPLAN
#include "remat/Transforms/Plan/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// One line of the table.
struct Row {
  std::string value, decision, bytes, cost, by, reason, where;
};
} // namespace

//===----------------------------------------------------------------------===//
// What a line says
//===----------------------------------------------------------------------===//

/// The name that policies know the value by, else what computes it.
static std::string describe(Value value) {
  if (std::optional<StringRef> name = getPolicyName(value))
    return ("\"" + *name + "\"").str();
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return "argument " +
           std::to_string(cast<BlockArgument>(value).getArgNumber());
  std::string text = result.getOwner()->getName().getStringRef().str();
  if (result.getOwner()->getNumResults() > 1)
    text += "#" + std::to_string(result.getResultNumber());
  return text;
}

/// How often the loops around `op` run it; none if that is not known.
static std::optional<int64_t> countRuns(Operation *op) {
  int64_t count = 1;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    std::optional<llvm::APInt> trips = loop.getStaticTripCount();
    if (!trips || !trips->isSignedIntN(64))
      return std::nullopt;
    count = multiplySizes({trips->getSExtValue()}, count);
  }
  return count;
}

/// `amount` for each run of the loops around `op`.
static std::string multiply(int64_t amount, Operation *op) {
  std::optional<int64_t> runs = countRuns(op);
  if (!runs)
    return std::to_string(amount) + " x ?";
  return std::to_string(multiplySizes({amount}, *runs));
}

static std::string getTitle(RegionOp region) {
  std::string title = "region";
  llvm::raw_string_ostream os(title);
  if (std::optional<StringRef> label = region.getLabel())
    os << " \"" << *label << "\"";
  if (std::string line = describeLine(region.getLoc()); !line.empty())
    os << " at " << line;
  os << ", policy " << region.getPolicyOrDefault();
  return title;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static void print(raw_ostream &os, StringRef title, ArrayRef<Row> rows) {
  static const Row header{"value", "decision", "bytes", "cost",
                          "by",    "because",  "at"};
  std::string Row::*const columns[] = {
      &Row::value, &Row::decision, &Row::bytes, &Row::cost,
      &Row::by,    &Row::reason,   &Row::where};
  SmallVector<size_t> widths;
  for (auto column : columns) {
    size_t width = (header.*column).size();
    for (const Row &row : rows)
      width = std::max(width, (row.*column).size());
    widths.push_back(width);
  }
  os << title << "\n";
  auto printRow = [&](const Row &row) {
    std::string line;
    llvm::raw_string_ostream out(line);
    for (auto [index, column] : llvm::enumerate(columns)) {
      bool isNumber = column == &Row::bytes || column == &Row::cost;
      out << "  "
          << llvm::FormattedString(row.*column, widths[index],
                                   isNumber
                                       ? llvm::FormattedString::JustifyRight
                                       : llvm::FormattedString::JustifyLeft);
    }
    os << StringRef(line).rtrim() << "\n";
  };
  printRow(header);
  for (const Row &row : rows)
    printRow(row);
}

static Row makeRow(Value value, DecisionAttr decision) {
  Value recorded = lookThroughTapes(value);
  Row row{decision.getOf()
              ? ("\"" + decision.getOf().getValue() + "\"").str()
              : describe(recorded.getDefiningOp() ? recorded : value),
          // That the policy names it is the reason.
          stringifyDecisionKind(decision.getKind() == DecisionKind::SaveNamed
                                    ? DecisionKind::Save
                                    : decision.getKind())
              .str(),
          multiply(estimateBytes(value.getType()),
                   value.getParentBlock()->getParentOp()),
          "", decision.getBy().str(), decision.getReason().str(),
          describeSource(recorded.getLoc())};
  Operation *op = value.getDefiningOp();
  if (op && decision.runsAgain())
    row.cost = multiply(getRecomputeCost(op), op);
  return row;
}

static void printRegion(raw_ostream &os, RegionOp region, ResidualPaths &paths,
                        bool againOnly) {
  SmallVector<Operation *> opaque;
  for (BackwardInputs &backward : getBackwards(region, paths, opaque)) {
    PlanOp plan = backward.getPlan();
    if (!plan)
      continue;
    SmallVector<Row> rows;
    for (auto [index, residual] : llvm::enumerate(plan.getResiduals())) {
      Value value = backward.lookup(residual);
      DecisionAttr decision = plan.getDecision(index);
      if (value && (!againOnly || decision.runsAgain()))
        rows.push_back(makeRow(value, decision));
    }
    if (againOnly && rows.empty())
      os << getTitle(region) << ", computes nothing again\n";
    else
      print(os, getTitle(region) + (againOnly ? ", computes again" : ""), rows);
  }
}

/// Operations that run in the backward: those whose phase says so, and what
/// reads their results. Not every rewrite keeps a phase.
static DenseSet<Operation *> findBackward(func::FuncOp function) {
  DenseSet<Operation *> backward;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto isBackward = [&](Value read) {
      return backward.contains(read.getDefiningOp());
    };
    // Forward and backward may share what has no contents.
    if (isWithoutContents(op))
      return;
    StringRef phase = getPhase(op);
    if (phase == kBackwardPhase || phase == kRecomputePhase ||
        backward.contains(op->getParentOp()) ||
        llvm::any_of(getInputs(op), isBackward))
      backward.insert(op);
  });
  return backward;
}

/// Returns true if the backward reads `value` or a view of it, other than for
/// an update.
static bool isKept(Value value, const DenseSet<Operation *> &backward) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (backward.contains(user))
      return getPhase(user) != kUpdatePhase && !isa<func::ReturnOp>(user);
    return isReshape(user) && isKept(user->getResult(0), backward);
  });
}

/// Prints the tensors that the forward of a function computes and the backward
/// reads, decided or not.
static void printKept(raw_ostream &os, func::FuncOp function) {
  SmallVector<Row> rows;
  DenseSet<Operation *> backward = findBackward(function);
  function.walk([&](Operation *op) {
    if (backward.contains(op) || getPhase(op) == kUpdatePhase ||
        isWithoutContents(op) || isReshape(op))
      return;
    for (Value result : op->getResults())
      if (isa<TensorType>(result.getType()) && isKept(result, backward))
        rows.push_back({describe(result), "kept",
                        multiply(estimateBytes(result.getType()), op), "", "",
                        "", describeSource(result.getLoc())});
  });
  if (!rows.empty())
    print(os, ("@" + function.getName() + ", kept without a plan").str(), rows);
}

/// How often the program calls each function in its text; a joint function as
/// often as its forward.
static DenseMap<StringRef, unsigned> countCalls(ModuleOp module) {
  DenseMap<StringRef, unsigned> counts;
  module.walk([&](func::CallOp call) { ++counts[call.getCallee()]; });
  for (auto half : module.getOps<func::FuncOp>())
    if (auto joint = half->getAttrOfType<FlatSymbolRefAttr>(kJointAttrName);
        joint && llvm::any_of(half.getResultTypes(), llvm::IsaPred<NoneType>))
      counts[joint.getValue()] = counts.lookup(half.getName());
  return counts;
}

/// Prints the values that the backward of a function reads, which include all
/// that regions save.
static void printFunction(raw_ostream &os, func::FuncOp function,
                          unsigned calls) {
  for (PlanOp plan : function.getOps<PlanOp>()) {
    SmallVector<Row> rows;
    for (auto [index, value] : llvm::enumerate(plan.getResiduals()))
      rows.push_back(makeRow(value, plan.getDecision(index)));
    std::string title = ("@" + function.getName() + ", ").str();
    if (calls > 1)
      title += "called " + std::to_string(calls) + " times, ";
    print(os, title + "all that its backward reads", rows);
    return;
  }
  if (function.walk([](BackwardOp) { return WalkResult::interrupt(); })
          .wasInterrupted())
    return;
  printKept(os, function);
}

namespace {
struct PrintPlanPass : remat::impl::PrintPlanBase<PrintPlanPass> {
  using PrintPlanBase::PrintPlanBase;
  PrintPlanPass(const remat::PrintPlanOptions &options, raw_ostream &os)
      : PrintPlanBase(options), os(&os) {}

  void runOnOperation() override {
    markAllAnalysesPreserved();
    ResidualPaths paths(getOperation());
    for (Block *body : getRegionBodies(getOperation()))
      printRegion(*os, cast<RegionOp>(body->getParentOp()), paths, againOnly);
    DenseMap<StringRef, unsigned> calls = countCalls(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      printFunction(*os, function, calls.lookup(function.getName()));
  }

  raw_ostream *os = &llvm::errs();
};
} // namespace

std::unique_ptr<Pass> remat::createPrintPlan(const PrintPlanOptions &options,
                                             raw_ostream &os) {
  return std::make_unique<PrintPlanPass>(options, os);
}
