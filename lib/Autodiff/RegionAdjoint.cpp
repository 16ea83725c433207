//===- RegionAdjoint.cpp - Backward of a remat.region ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where residuals of regions come into being.
//===----------------------------------------------------------------------===//

#include "Adjoint.h"
#include "Captures.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Turns what the backward of a region reads into its operands.
class RegionImporter : public CaptureImporter {
public:
  /// `cotangents` are those of the region's outputs, of which a value stays one
  /// even if it is a sum of `sums` as well.
  RegionImporter(RegionOp region, Region &backward, ArrayRef<Value> cotangents,
                 const DenseSet<Value> &sums)
      : CaptureImporter(backward), region(region), backward(backward),
        cotangents(cotangents), sums(sums) {}

  /// Gives the region its residuals and creates the operation that has the
  /// body of the backward.
  BackwardOp finish(OpBuilder &builder, ValueRange yielded);

private:
  /// The operands of a remat.backward.
  enum Group : unsigned { Inputs, Residuals, Cotangents, Sums };

  bool isForeign(Value value) override {
    return !backward.isAncestor(value.getParentRegion());
  }
  bool isForwardResult(Value value) {
    return value.getParentRegion() == &region.getBody() && isa<OpResult>(value);
  }
  bool isAvailable(Value value) override { return !isForwardResult(value); }

  Value makeAvailable(Value value) override {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == region.getBodyBlock())
      return pass(Inputs, region.getInputs()[argument.getArgNumber()]);
    bool isSum = sums.contains(value) && !llvm::is_contained(cotangents, value);
    return pass(isSum ? Sums : Cotangents, value);
  }

  Value save(Value value, OpBuilder &builder) override {
    return pass(Residuals, value);
  }

  BlockArgument pass(Group group, Value value) {
    BlockArgument &argument = arguments[{value, group}];
    if (!argument) {
      groups[group].push_back(value);
      unsigned index = 0;
      for (const SmallVector<Value> &operands :
           ArrayRef(groups).take_front(group + 1))
        index += operands.size();
      argument =
          backward.insertArgument(index - 1, value.getType(), value.getLoc());
    }
    return argument;
  }

  void addResiduals();

  RegionOp region;
  Region &backward;
  ArrayRef<Value> cotangents;
  const DenseSet<Value> &sums;
  DenseMap<std::pair<Value, unsigned>, BlockArgument> arguments;
  std::array<SmallVector<Value>, 4> groups;
};
} // namespace

/// Makes the values to save residuals of the region.
void RegionImporter::addResiduals() {
  SmallVector<Value> &residuals = groups[Residuals];
  if (residuals.empty())
    return;
  OpBuilder builder(region);
  YieldOp yield = region.getYield();
  unsigned firstNew = region->getNumResults();
  yield.getResidualsMutable().append(residuals);
  auto saving = RegionOp::create(
      builder, region.getLoc(), region.getOutputs().getTypes(),
      ValueRange(yield.getResiduals()).getTypes(), region.getInputs());
  auto segments = saving.getProperties().resultSegmentSizes;
  saving->setAttrs(region->getAttrDictionary());
  saving.getProperties().resultSegmentSizes = segments;
  saving.getBody().takeBody(region.getBody());
  region->replaceAllUsesWith(saving->getResults().take_front(firstNew));
  region->erase();
  region = saving;
  llvm::copy(saving->getResults().drop_front(firstNew), residuals.begin());
}

BackwardOp RegionImporter::finish(OpBuilder &builder, ValueRange yielded) {
  if (groups[Cotangents].empty())
    pass(Cotangents, cotangents.front());
  addResiduals();
  auto op =
      BackwardOp::create(builder, region.getLoc(), yielded.getTypes(),
                         groups[Inputs], groups[Residuals], groups[Cotangents],
                         groups[Sums], region.getLabelAttr());
  op.getBody().takeBody(backward);
  return op;
}

/// The sums of cotangents to which `region` may add.
static DenseSet<Value> getSums(RegionOp region, const AdjointScope &scope) {
  DenseSet<Value> sums;
  for (Value input : region.getInputs())
    if (Value sum = scope.getCotangent(input))
      sums.insert(sum);
  return sums;
}

/// The cotangents of values inside `region`: of its outputs, and of those that
/// equal operations after it share.
static SmallVector<Value> getCotangents(RegionOp region,
                                        const AdjointScope &scope) {
  SetVector<Value> cotangents;
  auto add = [&](Value value) {
    Value key = scope.keys.get(value);
    if (region.getBody().isAncestor(key.getParentRegion()))
      if (Value cotangent = scope.cotangents.lookup(key).value)
        cotangents.insert(cotangent);
  };
  llvm::for_each(region.getYield().getOperands(), add);
  if (scope.keys.holdsRepeated(region))
    region.walk([&](Operation *op) { llvm::for_each(op->getResults(), add); });
  return cotangents.takeVector();
}

/// The values from outside of `region` to whose cotangents `body`, its
/// backward, has added something: those that it takes first, in their order.
static SmallVector<Value> getChangedOutside(RegionOp region, Region &body,
                                            const AdjointScope &scope) {
  SetVector<Value> candidates;
  for (Value input : region.getInputs())
    candidates.insert(scope.keys.get(input));
  candidates.insert_range(scope.changed);
  return llvm::filter_to_vector(candidates, [&](Value value) {
    Value sum = scope.cotangents.lookup(value).value;
    return sum && sum.getParentRegion() == &body &&
           !region.getBody().isAncestor(value.getParentRegion());
  });
}

/// The scope of the caller goes on in the backward of the region: sums that it
/// has are added to there, so that the order of the additions, and the number
/// of buffers, are those of a program without regions.
LogicalResult Adjoint::reverseRegion(RegionOp region, AdjointScope &outer) {
  Location loc = region.getLoc();
  BackwardOp provisional = createProvisionalBackward(outer.builder, loc);
  Region &body = provisional.getBody();
  DenseSet<Value> sums = getSums(region, outer);
  SmallVector<Value> cotangents = getCotangents(region, outer);
  AdjointScope inner(body.front(), outer.keys);
  inner.cotangents = std::move(outer.cotangents);
  inner.accumulators = std::move(outer.accumulators);
  LogicalResult result = reverseBlock(*region.getBodyBlock(), inner);
  outer.accumulators = std::move(inner.accumulators);
  if (failed(result))
    return failure();

  SmallVector<Value> values = getChangedOutside(region, body, inner);
  SmallVector<Value> yielded = llvm::map_to_vector(values, [&](Value value) {
    return inner.cotangents.lookup(value).value;
  });
  outer.cotangents = std::move(inner.cotangents);
  outer.changed.insert_range(inner.changed);
  YieldOp::create(inner.builder, loc, yielded);
  eraseDead(body.front());
  if (!yielded.empty()) {
    RegionImporter importer(region, body, cotangents, sums);
    if (failed(importer.run()))
      return failure();
    BackwardOp backward = importer.finish(outer.builder, yielded);
    for (auto [value, sum] : llvm::zip_equal(values, backward.getOutputs()))
      outer.cotangents[value].value = sum;
  }
  provisional.erase();
  return success();
}
