//===- PrintPlan.cpp - Show what backwards keep, and why ------------------===//
//
// A user who wonders where the memory goes, or why something runs twice, should
// not have to read the program that passes left.
//
//===----------------------------------------------------------------------===//

#include "Tapes.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Plan/Passes.h"
#include "remat/Transforms/Plan/Reader.h"
#include "remat/Transforms/Plan/RecomputeCostOpInterface.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

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
  for (Operation *user : value.getUsers())
    if (auto name = dyn_cast<NameOp>(user))
      return ("\"" + name.getName() + "\"").str();
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return "argument " +
           std::to_string(cast<BlockArgument>(value).getArgNumber());
  std::string text = result.getOwner()->getName().getStringRef().str();
  if (result.getOwner()->getNumResults() > 1)
    text += "#" + std::to_string(result.getResultNumber());
  return text;
}

/// The line of the user's file, or nothing.
static std::string getLine(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  return (llvm::sys::path::filename(file.getFilename().getValue()) + ":" +
          Twine(file.getLine()))
      .str();
}

/// How often the loops around `op` run it; none if that is not known.
static std::optional<int64_t> getTripCount(Operation *op) {
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
  std::optional<int64_t> trips = getTripCount(op);
  if (!trips)
    return std::to_string(amount) + " x ?";
  return std::to_string(multiplySizes({amount}, *trips));
}

static std::string getTitle(RegionOp region) {
  std::string title = "region";
  llvm::raw_string_ostream os(title);
  if (std::optional<StringRef> label = region.getLabel())
    os << " \"" << *label << "\"";
  if (std::string line = getLine(region.getLoc()); !line.empty())
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
  Row row{describe(value),
          stringifyDecisionKind(decision.getKind()).str(),
          multiply(estimateBytes(value.getType()),
                   value.getParentBlock()->getParentOp()),
          "",
          decision.getBy().str(),
          decision.getReason().str(),
          getLine(value.getLoc())};
  Operation *op = value.getDefiningOp();
  if (op && decision.runsAgain())
    row.cost = multiply(getRecomputeCost(op), op);
  return row;
}

static void printRegion(raw_ostream &os, RegionOp region,
                        Crossings &crossings) {
  SmallVector<Operation *> opaque;
  for (Reader &reader : getReaders(region, crossings, opaque)) {
    PlanOp plan = reader.getPlan();
    if (!plan)
      continue;
    SmallVector<Row> rows;
    for (auto [index, residual] : llvm::enumerate(plan.getResiduals())) {
      Value value = reader.valueOf.lookup(cast<BlockArgument>(residual));
      if (value)
        rows.push_back(makeRow(value, plan.getDecision(index)));
    }
    print(os, getTitle(region), rows);
  }
}

/// Whether a region has decided about `value`: its residual, or a tape of one.
static bool isResidual(Value value) {
  if (TapeWriteOp write = getWriteOf(value))
    value = write.getValue();
  auto region = value.getDefiningOp<RegionOp>();
  return region &&
         cast<OpResult>(value).getResultNumber() >= region.getOutputs().size();
}

/// Whether the backward, which `value` is not part of, reads it.
static bool isKept(Value value) {
  return isa<ShapedType>(value.getType()) && !isResidual(value) &&
         llvm::any_of(value.getUsers(),
                      [](Operation *user) {
                        return isInBackward(user) || isa<BackwardOp>(user);
                      }) &&
         !isReplacedInside(value);
}

/// What is kept because no region decides about it: forward values that the
/// backward reads where they are, operands of regions among them.
static void printOutside(raw_ostream &os, func::FuncOp function) {
  SmallVector<Row> rows;
  for (Block &block : function.getBody())
    for (Operation &op : block) {
      if (isInBackward(&op) || isa<BackwardOp>(op) ||
          op.hasTrait<OpTrait::ConstantLike>())
        continue;
      for (OpResult result : op.getResults()) {
        if (!isKept(result))
          continue;
        TapeWriteOp write = getWriteOf(result);
        Value value = write ? write.getValue() : Value(result);
        rows.push_back({describe(value), "save",
                        std::to_string(estimateBytes(result.getType())), "",
                        "no region", "read by the backward",
                        getLine(value.getLoc())});
      }
    }
  if (!rows.empty())
    print(os, ("@" + function.getName() + ", outside of regions").str(), rows);
}

namespace {
struct PrintPlanPass : remat::impl::PrintPlanBase<PrintPlanPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    Crossings crossings(getOperation());
    for (Block *body : getRegionBodies(getOperation()))
      printRegion(llvm::errs(), cast<RegionOp>(body->getParentOp()), crossings);
    for (auto function : getOperation().getOps<func::FuncOp>())
      printOutside(llvm::errs(), function);
  }
};
} // namespace
