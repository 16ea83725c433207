//===- AnnotatePass.cpp - Regions for models that have none ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nobody edits what an exporter wrote: the next export would lose it. What a
// user knows of a model ("its layers") is said beside it.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Policies.h"
#include "remat/Transforms/Annotate/Annotate.h"
#include "remat/Transforms/Annotate/Passes.h"
#include "remat/Transforms/Checks/PolicyNames.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

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
    clearNumbers(getOperation());
  }

private:
  LogicalResult annotate();
  LogicalResult checkOptions();
  FailureOr<Attribute> choosePolicy();
  FailureOr<SmallVector<func::FuncOp>> chooseFunctions();
  SmallVector<func::FuncOp> addCallees(ArrayRef<func::FuncOp> functions);
  FailureOr<SmallVector<Selection>> selectBlocksOf(func::FuncOp function);
  FailureOr<SmallVector<Selection>> select(ArrayRef<func::FuncOp> functions);
  LogicalResult nameRecomputed(IRRewriter &rewriter,
                               ArrayRef<RegionOp> regions);
  LogicalResult nameSaved(IRRewriter &rewriter, ArrayRef<func::FuncOp> chosen,
                          ArrayRef<RegionOp> regions);
  LogicalResult makeRegions(IRRewriter &rewriter,
                            ArrayRef<func::FuncOp> functions,
                            ArrayRef<Selection> selections, Attribute policy);
};
} // namespace

/// Names that `recompute=` and `save=` give to results of operations.
static constexpr llvm::StringLiteral kRecomputedName = "recomputed";
static constexpr llvm::StringLiteral kSavedName = "saved";

LogicalResult AnnotatePass::checkOptions() {
  Location loc = getOperation().getLoc();
  if (blocks + whole + checkpoints + !calls.empty() + !scopes.empty() +
          !kinds.empty() !=
      1)
    return emitError(loc, "remat-annotate takes one selector: blocks, whole, "
                          "calls=, scope=, checkpoints or ops=");
  if ((!policy.empty() || !save.empty()) + !recompute.empty() + !name.empty() +
          stop + !vjp.empty() >
      1)
    return emitError(loc, "remat-annotate takes one action: policy= and save=, "
                          "recompute=, name=, stop or vjp=; add another "
                          "remat-annotate for another one");
  if (!blocks && (!pick.empty() || every != 1 || group != 1))
    return emitError(loc, "pick=, every= and group= are for blocks");
  return success();
}

FailureOr<Attribute> AnnotatePass::choosePolicy() {
  if (!recompute.empty())
    return Attribute(SaveAnythingExceptNamesAttr::get(
        &getContext(), StringAttr::get(&getContext(), kRecomputedName)));
  if (policy.empty())
    return Attribute();
  return parsePolicy(getOperation().getLoc(), policy);
}

FailureOr<SmallVector<func::FuncOp>> AnnotatePass::chooseFunctions() {
  ModuleOp module = getOperation();
  llvm::SetVector<func::FuncOp> chosen;
  for (const std::string &name : functions) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (!function || function.isExternal())
      return emitError(module.getLoc(), "function=")
             << name << ": there is no such function with a body";
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
    return emitError(module.getLoc(), "there is no public function to "
                                      "annotate; name one with function=");
  return llvm::to_vector(chosen);
}

SmallVector<func::FuncOp>
AnnotatePass::addCallees(ArrayRef<func::FuncOp> functions) {
  SymbolTable symbols(getOperation());
  llvm::SetVector<func::FuncOp> all(functions.begin(), functions.end());
  for (size_t index = 0; index < all.size(); ++index)
    for (const std::string &name : collectCallees(all[index]))
      if (auto callee = symbols.lookup<func::FuncOp>(name);
          callee && !callee.isExternal())
        all.insert(callee);
  return llvm::to_vector(all);
}

/// Reports the first of `patterns` that matched nothing in `functions`, with
/// what comes nearest to it, or `ifNone` if there is nothing to match.
static LogicalResult
checkMatched(ArrayRef<func::FuncOp> functions, StringRef option,
             StringRef things, ArrayRef<std::string> patterns,
             ArrayRef<bool> matched,
             function_ref<SmallVector<std::string>(func::FuncOp)> collect,
             StringRef ifNone = "it has none") {
  for (auto [pattern, isMatched] : llvm::zip_equal(patterns, matched)) {
    if (isMatched)
      continue;
    func::FuncOp first = functions.front();
    Location loc = first.getLoc();
    InFlightDiagnostic diagnostic = emitError(loc)
                                    << option << pattern << " matches no "
                                    << things << " in @" << first.getName();
    SmallVector<std::string> candidates;
    for (func::FuncOp function : functions)
      llvm::append_range(candidates, collect(function));
    std::string nearest = listNearest(pattern, candidates);
    diagnostic.attachNote(loc)
        << (nearest.empty() ? ifNone.str() : "the nearest are " + nearest);
    return diagnostic;
  }
  return success();
}

FailureOr<SmallVector<Selection>>
AnnotatePass::selectBlocksOf(func::FuncOp function) {
  SmallVector<Selection> found = selectBlocks(function);
  if (found.empty() && !function.getOps<RegionOp>().empty())
    return emitError(function.getLoc(), "@")
           << function.getName() << " has its layers in regions already";
  if (found.empty())
    return emitError(function.getLoc(), "@")
           << function.getName()
           << " has no layers: no sequence of operations repeats on other "
              "parameters; select by scope, or the whole function";
  return chooseBlocks(function.getLoc(), std::move(found), pick, every, group);
}

FailureOr<SmallVector<Selection>>
AnnotatePass::select(ArrayRef<func::FuncOp> chosen) {
  SmallVector<Selection> selections;
  auto add = [&](FailureOr<SmallVector<Selection>> found) {
    if (failed(found))
      return failure();
    llvm::append_range(selections, *found);
    return success();
  };
  for (func::FuncOp function : chosen) {
    if (blocks && failed(add(selectBlocksOf(function))))
      return failure();
    if (!whole)
      continue;
    if (!llvm::hasSingleElement(function.getBody()))
      return emitError(function.getLoc(), "@")
             << function.getName()
             << " has several blocks; run -lift-cf-to-scf first";
    Selection all = selectWhole(function);
    if (!all.ops.empty())
      selections.push_back(std::move(all));
    // A region of nothing would keep nothing.
    else if (!name.empty() || stop || !vjp.empty())
      return emitError(function.front().getTerminator()->getLoc(), "@")
             << function.getName()
             << " only returns what it gets: 'whole' selects nothing there; "
                "name other functions by function=";
  }
  SmallVector<func::FuncOp> all = addCallees(chosen);
  SmallVector<bool> hasCall, hasScope, hasKind;
  for (func::FuncOp function : all)
    if ((!calls.empty() &&
         failed(add(selectCalls(function, calls, hasCall)))) ||
        (!scopes.empty() &&
         failed(add(selectScopes(function, scopes, hasScope)))) ||
        (!kinds.empty() &&
         failed(add(name.empty() && !stop
                        ? selectKinds(function, kinds, hasKind)
                        : selectResultsOfKinds(function, kinds, hasKind)))) ||
        (checkpoints && failed(add(selectCheckpoints(function)))))
      return failure();
  if (checkpoints && selections.empty())
    return emitError(all.front().getLoc(), "nothing in @")
           << all.front().getName()
           << " is under torch.utils.checkpoint or jax.checkpoint: apply it in "
              "the model, or select by layers, by scopes or everything; an "
              "export by hand needs its locations, as_text(debug_info=True)";
  if (failed(checkMatched(all, "calls=", "called function", calls, hasCall,
                          collectCallees)) ||
      failed(checkMatched(all, "scope=", "scope", scopes, hasScope,
                          collectScopes,
                          "its locations name none; export with debug "
                          "information, and print it everywhere with "
                          "--mlir-print-debuginfo")) ||
      failed(
          checkMatched(all, "ops=", "operation", kinds, hasKind, collectKinds)))
    return failure();
  return selections;
}

LogicalResult AnnotatePass::nameRecomputed(IRRewriter &rewriter,
                                           ArrayRef<RegionOp> regions) {
  SmallVector<bool> matched;
  FailureOr<DenseSet<Operation *>> hasName =
      nameKinds(rewriter, getOperation(), regions, recompute, kRecomputedName,
                /*toSave=*/false, matched);
  if (failed(hasName))
    return failure();
  for (RegionOp region : regions)
    if (!hasName->contains(region))
      return emitError(region.getLoc(), "no operation in the region \"")
             << region.getLabel().value_or("")
             << "\" is one of recompute=" << llvm::join(recompute, ",");
  return success();
}

/// Regions without such an operation keep the policy as it is: which of them
/// have one is not what a list of kinds says.
LogicalResult AnnotatePass::nameSaved(IRRewriter &rewriter,
                                      ArrayRef<func::FuncOp> chosen,
                                      ArrayRef<RegionOp> regions) {
  // Regions of another run are not to save what this one names.
  llvm::StringSet<> taken;
  getOperation().walk([&](NameOp op) { taken.insert(op.getName()); });
  SmallString<16> free(kSavedName);
  unsigned counter = 1;
  if (taken.contains(free))
    free = SymbolTable::generateSymbolName<16>(
        kSavedName, [&](StringRef name) { return taken.contains(name); },
        counter);
  SmallVector<bool> matched;
  FailureOr<DenseSet<Operation *>> hasName = nameKinds(
      rewriter, getOperation(), regions, save, free, /*toSave=*/true, matched);
  if (failed(hasName) || failed(checkMatched(chosen, "save=", "operation", save,
                                             matched, collectKinds)))
    return failure();
  if (hasName->empty())
    return emitError(getOperation().getLoc(), "no operation in a region is one "
                                              "of save=")
           << llvm::join(save, ",");
  Attribute names = SaveOnlyNamesAttr::get(
      &getContext(), StringAttr::get(&getContext(), free));
  for (RegionOp region : regions)
    if (hasName->contains(region))
      region.setPolicyAttr(
          policy.empty()
              ? names
              : AnyOfAttr::get(&getContext(), {region.getPolicyAttr(), names}));
  return success();
}

LogicalResult AnnotatePass::makeRegions(IRRewriter &rewriter,
                                        ArrayRef<func::FuncOp> chosen,
                                        ArrayRef<Selection> selections,
                                        Attribute attribute) {
  SmallVector<Selection> joined(selections);
  if (!kinds.empty())
    joined = joinConnected(selections);
  SmallVector<RegionOp> regions;
  if (failed(wrapInRegions(rewriter, joined, attribute, regions)))
    return failure();
  if (!recompute.empty() && failed(nameRecomputed(rewriter, regions)))
    return failure();
  if (!save.empty() && failed(nameSaved(rewriter, chosen, regions)))
    return failure();
  SymbolTableCollection symbols;
  for (func::FuncOp function : addCallees(chosen)) {
    if (failed(checkPolicyNames(function, symbols)))
      return failure();
    auto ofFunction =
        llvm::to_vector(llvm::make_filter_range(regions, [&](RegionOp region) {
          return function->isProperAncestor(region);
        }));
    if (report && !ofFunction.empty())
      printRegions(llvm::errs(), function, ofFunction);
  }
  return success();
}

/// Leaves out selections inside of later ones: what leaves them is not what
/// leaves the whole.
static void keepOutermost(SmallVector<Selection> &selections) {
  DenseSet<Operation *> selected;
  SmallVector<Selection> outermost;
  for (Selection &selection : llvm::reverse(selections)) {
    bool isInside = false;
    for (Operation *op = selection.ops.front(); op; op = op->getParentOp())
      isInside |= selected.contains(op);
    if (isInside)
      continue;
    selected.insert_range(selection.ops);
    outermost.push_back(std::move(selection));
  }
  selections.assign(std::make_move_iterator(outermost.rbegin()),
                    std::make_move_iterator(outermost.rend()));
}

LogicalResult AnnotatePass::annotate() {
  if (failed(checkOptions()))
    return failure();
  FailureOr<Attribute> attribute = choosePolicy();
  FailureOr<SmallVector<func::FuncOp>> chosen = chooseFunctions();
  if (failed(attribute) || failed(chosen))
    return failure();
  // Layers are found by equal operations, which numbers would tell apart.
  if (!kinds.empty())
    numberOps(getOperation());
  FailureOr<SmallVector<Selection>> selections = select(*chosen);
  if (failed(selections))
    return failure();
  if (!recompute.empty() || !save.empty())
    numberOps(getOperation());
  IRRewriter rewriter(&getContext());
  if (!name.empty() || stop || !vjp.empty())
    keepOutermost(*selections);
  if (!name.empty())
    return nameOutputs(rewriter, *selections, name);
  if (stop)
    return stopGradients(rewriter, *selections);
  if (!vjp.empty())
    return bindVJP(rewriter, *selections,
                   FlatSymbolRefAttr::get(
                       &getContext(), StringRef(vjp.getValue()).ltrim('@')));
  return makeRegions(rewriter, *chosen, *selections, *attribute);
}
