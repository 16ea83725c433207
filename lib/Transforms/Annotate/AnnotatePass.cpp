//===- AnnotatePass.cpp - Regions for models that have none ---------------===//
//
// Nobody edits what an exporter wrote: the next export would lose it. What a
// user knows of a model ("its layers") is said beside it.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Policies.h"
#include "remat/Transforms/Annotate/Annotate.h"
#include "remat/Transforms/Annotate/Passes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {
#define GEN_PASS_DEF_ANNOTATE
#include "remat/Transforms/Annotate/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
struct AnnotatePass : remat::impl::AnnotateBase<AnnotatePass> {
  using AnnotateBase::AnnotateBase;

  void runOnOperation() override {
    if (failed(annotate()))
      signalPassFailure();
  }

private:
  LogicalResult annotate();
  LogicalResult checkOptions();
  FailureOr<Attribute> parsePolicy();
  FailureOr<SmallVector<func::FuncOp>> chooseFunctions();
  FailureOr<SmallVector<Selection>> select(func::FuncOp function);
};
} // namespace

LogicalResult AnnotatePass::checkOptions() {
  Location loc = getOperation().getLoc();
  if (blocks + whole != 1)
    return emitError(loc, "remat-annotate takes one selector: blocks or whole");
  if (!blocks && (!pick.empty() || every != 1 || group != 1))
    return emitError(loc, "pick=, every= and group= are for blocks");
  return success();
}

FailureOr<Attribute> AnnotatePass::parsePolicy() {
  if (policy.empty())
    return Attribute();
  std::string text = policy;
  if (text.front() != '#')
    text = "#remat." + text;
  Attribute attribute = parseAttribute(text, &getContext());
  if (!isa_and_nonnull<PolicyAttrInterface>(attribute))
    return emitError(getOperation().getLoc(), "policy=")
           << policy.getValue() << " is no policy; choose " << kPolicyChoices;
  return attribute;
}

FailureOr<SmallVector<func::FuncOp>> AnnotatePass::chooseFunctions() {
  ModuleOp module = getOperation();
  llvm::SetVector<func::FuncOp> chosen;
  for (const std::string &name : functions) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (!function || function.isExternal())
      return module.emitError() << "function=" << name << ": there is no such "
                                << "function with a body";
    chosen.insert(function);
  }
  if (chosen.empty())
    for (auto step : module.getOps<TrainStepOp>())
      if (auto function = module.lookupSymbol<func::FuncOp>(step.getLoss()))
        chosen.insert(function);
  if (chosen.empty())
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal())
        chosen.insert(function);
  if (chosen.empty())
    return module.emitError("there is no public function to annotate; name one "
                            "with function=");
  return llvm::to_vector(chosen);
}

FailureOr<SmallVector<Selection>> AnnotatePass::select(func::FuncOp function) {
  if (whole) {
    Selection selection = selectWhole(function);
    if (selection.ops.empty())
      return emitError(function.getLoc(), "@")
             << function.getName()
             << " computes nothing that a region could hold";
    return SmallVector<Selection>{selection};
  }
  SmallVector<Selection> found = selectBlocks(function);
  if (found.empty() && !function.getOps<RegionOp>().empty())
    return emitError(function.getLoc(), "@")
           << function.getName() << " has its layers in regions already";
  if (found.empty())
    return emitError(function.getLoc(), "@")
           << function.getName()
           << " has no layers: no sequence of operations repeats on other "
              "parameters; select the whole function instead";
  return chooseBlocks(function.getLoc(), std::move(found), pick, every, group);
}

LogicalResult AnnotatePass::annotate() {
  if (failed(checkOptions()))
    return failure();
  FailureOr<Attribute> attribute = parsePolicy();
  FailureOr<SmallVector<func::FuncOp>> chosen = chooseFunctions();
  if (failed(attribute) || failed(chosen))
    return failure();
  IRRewriter rewriter(&getContext());
  for (func::FuncOp function : *chosen) {
    FailureOr<SmallVector<Selection>> selections = select(function);
    SmallVector<RegionOp> regions;
    if (failed(selections) ||
        failed(wrapInRegions(rewriter, *selections, *attribute, regions)))
      return failure();
    if (report)
      printRegions(llvm::errs(), function, regions);
  }
  return success();
}
