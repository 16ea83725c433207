//===- TransformOps.cpp - Annotate by a script ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `remat-annotate` says in options, in a file beside the model, together
// with whatever else the transform dialect can match.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Annotate/TransformOps.h"

#include "remat/Dialect/Remat/IR/Policies.h"
#include "remat/Transforms/Annotate/Annotate.h"
#include "remat/Transforms/Checks/PolicyNames.h"

#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;
using namespace mlir::remat;
using transform::TransformResults;
using transform::TransformState;

#define GET_OP_CLASSES
#include "remat/Transforms/Annotate/TransformOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Matchers
//===----------------------------------------------------------------------===//

static SmallVector<std::string> toStrings(ArrayAttr strings) {
  SmallVector<std::string> texts;
  if (strings)
    for (auto text : strings.getAsValueRange<StringAttr>())
      texts.push_back(text.str());
  return texts;
}

/// Calls `select` for each function of `target` and sets the two results. What
/// matches nothing is an error, unless somebody else says so.
static DiagnosedSilenceableFailure
match(Operation *op, Value target, TransformResults &results,
      TransformState &state,
      function_ref<FailureOr<SmallVector<Selection>>(func::FuncOp)> select,
      bool mayBeEmpty = false) {
  SmallVector<Operation *> ops;
  SmallVector<Attribute> labels;
  for (Operation *payload : state.getPayloadOps(target)) {
    auto function = dyn_cast<func::FuncOp>(payload);
    if (!function) {
      DiagnosedDefiniteFailure failure = emitDefiniteFailure(
          op, "the target of a matcher is a func.func; use "
              "transform.structured.match ops{[\"func.func\"]}");
      failure.attachNote(payload->getLoc()) << "this is " << payload->getName();
      return failure;
    }
    FailureOr<SmallVector<Selection>> selections = select(function);
    if (failed(selections))
      return DiagnosedSilenceableFailure::definiteFailure();
    for (const Selection &selection : *selections)
      for (Operation *selected : selection.ops) {
        ops.push_back(selected);
        labels.push_back(StringAttr::get(op->getContext(), selection.label));
      }
  }
  if (ops.empty() && !mayBeEmpty)
    return emitDefiniteFailure(op, "matches nothing");
  results.set(cast<OpResult>(op->getResult(0)), ops);
  results.setParams(cast<OpResult>(op->getResult(1)), labels);
  return DiagnosedSilenceableFailure::success();
}

DiagnosedSilenceableFailure
transform::MatchBlocksOp::apply(TransformRewriter &, TransformResults &results,
                                TransformState &state) {
  SmallVector<std::string> indices = toStrings(getPickAttr());
  return match(*this, getTarget(), results, state, [&](func::FuncOp function) {
    SmallVector<Selection> blocks = selectBlocks(function);
    if (blocks.empty())
      return FailureOr<SmallVector<Selection>>(blocks);
    return chooseBlocks(getLoc(), std::move(blocks), indices, getEvery(),
                        getGroup());
  });
}

DiagnosedSilenceableFailure transform::MatchCheckpointsOp::apply(
    TransformRewriter &, TransformResults &results, TransformState &state) {
  return match(*this, getTarget(), results, state, [&](func::FuncOp function) {
    return FailureOr<SmallVector<Selection>>(selectCheckpoints(function));
  });
}

/// The matchers by patterns: each pattern has to match something.
template <typename MatchOp>
static DiagnosedSilenceableFailure
matchPatterns(MatchOp op, TransformResults &results, TransformState &state,
              FailureOr<SmallVector<Selection>> (*select)(
                  func::FuncOp, ArrayRef<std::string>, SmallVectorImpl<bool> &),
              function_ref<SmallVector<std::string>(func::FuncOp)> collect) {
  SmallVector<std::string> patterns = toStrings(op.getPatterns());
  SmallVector<bool> matched(patterns.size());
  SmallVector<std::string> candidates;
  DiagnosedSilenceableFailure result = match(
      op, op.getTarget(), results, state,
      [&](func::FuncOp function) {
        llvm::append_range(candidates, collect(function));
        FailureOr<SmallVector<Selection>> found =
            select(function, patterns, matched);
        if (succeeded(found) && isa<transform::MatchKindOp>(op))
          found = joinConnected(*found);
        return found;
      },
      /*mayBeEmpty=*/true);
  if (!result.succeeded())
    return result;
  for (auto [pattern, isMatched] : llvm::zip_equal(patterns, matched))
    if (!isMatched) {
      std::string nearest = listNearest(pattern, candidates);
      return emitDefiniteFailure(
          op,
          "\"" + pattern + "\" matches nothing; the nearest are " + nearest);
    }
  return result;
}

DiagnosedSilenceableFailure
transform::MatchScopeOp::apply(TransformRewriter &, TransformResults &results,
                               TransformState &state) {
  return matchPatterns(*this, results, state, selectScopes, collectScopes);
}

DiagnosedSilenceableFailure
transform::MatchCallsOp::apply(TransformRewriter &, TransformResults &results,
                               TransformState &state) {
  return matchPatterns(*this, results, state, selectCalls, collectCallees);
}

DiagnosedSilenceableFailure
transform::MatchKindOp::apply(TransformRewriter &, TransformResults &results,
                              TransformState &state) {
  return matchPatterns(*this, results, state, selectKinds, collectKinds);
}

//===----------------------------------------------------------------------===//
// Actions
//===----------------------------------------------------------------------===//

/// The operations of `target` in program order, one selection for each label
/// and block, or for each operation if there are no labels.
static FailureOr<SmallVector<Selection>> getSelections(Operation *op,
                                                       Value target,
                                                       Value labels,
                                                       TransformState &state) {
  SmallVector<Operation *> ops = llvm::to_vector(state.getPayloadOps(target));
  SmallVector<Attribute> names;
  if (labels)
    names = llvm::to_vector(state.getParams(labels));
  if (labels && names.size() != ops.size())
    return op->emitError() << "has " << ops.size() << " operations, but "
                           << names.size()
                           << " labels; take both from one matcher";
  SmallVector<Selection> selections;
  std::map<std::pair<std::string, Block *>, size_t> indices;
  DenseSet<Operation *> seen;
  for (auto [index, selected] : llvm::enumerate(ops)) {
    if (!seen.insert(selected).second)
      continue;
    if (!selected->getParentOfType<func::FuncOp>())
      return op->emitError()
             << "'" << selected->getName() << "' is in no func.func";
    std::string label;
    if (labels) {
      auto name = dyn_cast<StringAttr>(names[index]);
      if (!name)
        return op->emitError()
               << "labels are strings, but one is " << names[index];
      label = name.getValue().str();
    }
    size_t next = selections.size();
    if (labels)
      next = indices.try_emplace({label, selected->getBlock()}, next)
                 .first->second;
    if (next == selections.size())
      selections.push_back({label, {}});
    selections[next].ops.push_back(selected);
  }
  for (Selection &selection : selections)
    llvm::sort(selection.ops, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
  return selections;
}

/// The same, but without labels one for each set of operations that read each
/// other.
template <typename ActionOp>
static FailureOr<SmallVector<Selection>>
getConnectedSelections(ActionOp op, TransformState &state) {
  FailureOr<SmallVector<Selection>> selections =
      getSelections(op, op.getTarget(), op.getLabels(), state);
  if (succeeded(selections) && !op.getLabels())
    selections = joinConnected(*selections);
  return selections;
}

LogicalResult transform::WrapOp::verify() {
  if (std::optional<Attribute> policy = getPolicy();
      policy && !isa<PolicyAttrInterface>(*policy))
    return emitOpError() << "expects a policy, got " << *policy
                         << "; policies are " << listPolicies();
  return success();
}

DiagnosedSilenceableFailure
transform::WrapOp::apply(TransformRewriter &rewriter, TransformResults &results,
                         TransformState &state) {
  FailureOr<SmallVector<Selection>> selections =
      getConnectedSelections(*this, state);
  if (failed(selections))
    return DiagnosedSilenceableFailure::definiteFailure();
  SmallVector<RegionOp> regions;
  if (failed(wrapInRegions(rewriter, *selections, getPolicyAttr(), regions)))
    return DiagnosedSilenceableFailure::definiteFailure();
  SymbolTableCollection symbols;
  llvm::SetVector<func::FuncOp> functions;
  for (RegionOp region : regions)
    functions.insert(region->getParentOfType<func::FuncOp>());
  for (func::FuncOp function : functions)
    if (failed(checkPolicyNames(function, symbols)))
      return DiagnosedSilenceableFailure::definiteFailure();
  results.set(cast<OpResult>(getWrapped()), regions);
  return DiagnosedSilenceableFailure::success();
}

DiagnosedSilenceableFailure
transform::NameTransformOp::apply(TransformRewriter &rewriter,
                                  TransformResults &, TransformState &state) {
  FailureOr<SmallVector<Selection>> selections =
      getSelections(*this, getTarget(), getLabels(), state);
  if (failed(selections))
    return DiagnosedSilenceableFailure::definiteFailure();
  if (failed(nameOutputs(rewriter, *selections, getName())))
    return DiagnosedSilenceableFailure::definiteFailure();
  return DiagnosedSilenceableFailure::success();
}

DiagnosedSilenceableFailure transform::StopGradientTransformOp::apply(
    TransformRewriter &rewriter, TransformResults &, TransformState &state) {
  FailureOr<SmallVector<Selection>> selections =
      getSelections(*this, getTarget(), getLabels(), state);
  if (failed(selections))
    return DiagnosedSilenceableFailure::definiteFailure();
  if (failed(stopGradients(rewriter, *selections)))
    return DiagnosedSilenceableFailure::definiteFailure();
  return DiagnosedSilenceableFailure::success();
}

DiagnosedSilenceableFailure
transform::BindVJPOp::apply(TransformRewriter &rewriter, TransformResults &,
                            TransformState &state) {
  FailureOr<SmallVector<Selection>> selections =
      getConnectedSelections(*this, state);
  if (failed(selections))
    return DiagnosedSilenceableFailure::definiteFailure();
  if (failed(bindVJP(rewriter, *selections, getRuleAttr())))
    return DiagnosedSilenceableFailure::definiteFailure();
  return DiagnosedSilenceableFailure::success();
}

/// The operations are moved, not replaced: handles to them stay.
static void
getActionEffects(MutableArrayRef<OpOperand> operands,
                 SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  transform::onlyReadsHandle(operands, effects);
  transform::modifiesPayload(effects);
}

void transform::WrapOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  getActionEffects(getOperation()->getOpOperands(), effects);
  producesHandle(getOperation()->getOpResults(), effects);
}
void transform::NameTransformOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  getActionEffects(getOperation()->getOpOperands(), effects);
}
void transform::StopGradientTransformOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  getActionEffects(getOperation()->getOpOperands(), effects);
}
void transform::BindVJPOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  consumesHandle(getTargetMutable(), effects);
  onlyReadsHandle(getLabelsMutable(), effects);
  modifiesPayload(effects);
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {
class AnnotateTransformExtension
    : public transform::TransformDialectExtension<AnnotateTransformExtension> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AnnotateTransformExtension)

  void init() {
    declareGeneratedDialect<func::FuncDialect>();
    declareGeneratedDialect<RematDialect>();
    registerTransformOps<
#define GET_OP_LIST
#include "remat/Transforms/Annotate/TransformOps.cpp.inc"
        >();
  }
};
} // namespace

void mlir::remat::registerAnnotateTransformOps(DialectRegistry &registry) {
  registry.addExtensions<AnnotateTransformExtension>();
}
