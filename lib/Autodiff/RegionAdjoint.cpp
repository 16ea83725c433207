//===- RegionAdjoint.cpp - Backward of a remat.region ---------------------===//
//
// The one place where residuals of regions come into being.
//
//===----------------------------------------------------------------------===//

#include "Adjoint.h"
#include "Captures.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Turns what the backward of a region reads into its operands: the region's
/// own operands and its residuals first, then cotangents of its outputs, then
/// the sums into which it accumulates.
class RegionImporter : public CaptureImporter {
public:
  RegionImporter(RegionOp region, Region &backward, const DenseSet<Value> &sums)
      : CaptureImporter(backward), region(region), backward(backward),
        sums(sums) {}

  /// Gives the region its residuals and returns the operands of the backward.
  SmallVector<Value> finish();

private:
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
      value = region.getInputs()[argument.getArgNumber()];
    auto [it, isNew] = arguments.try_emplace(value);
    if (isNew) {
      it->second = backward.addArgument(value.getType(), value.getLoc());
      operands.push_back(value);
    }
    return it->second;
  }

  Value save(Value value, OpBuilder &builder) override {
    residuals.push_back(value);
    // Stands for the result that the region will have.
    operands.push_back(nullptr);
    return backward.addArgument(value.getType(), value.getLoc());
  }

  unsigned getRank(Value value) override {
    if (region.getBody().isAncestor(value.getParentRegion()))
      return 0;
    return sums.contains(value) ? 2 : 1;
  }

  RegionOp region;
  Region &backward;
  const DenseSet<Value> &sums;
  DenseMap<Value, BlockArgument> arguments;
  SmallVector<Value> operands, residuals;
};
} // namespace

SmallVector<Value> RegionImporter::finish() {
  if (residuals.empty())
    return operands;
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
  unsigned next = firstNew;
  for (Value &operand : operands)
    if (!operand)
      operand = saving->getResult(next++);
  return operands;
}

/// The sums of cotangents to which `region` may add.
static DenseSet<Value> getSums(RegionOp region, const AdjointScope &scope) {
  DenseSet<Value> sums;
  for (Value input : region.getInputs())
    if (Value sum = scope.getCotangent(input))
      sums.insert(sum);
  return sums;
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
  StringAttr label = region.getLabelAttr();
  if (!yielded.empty()) {
    RegionImporter importer(region, body, sums);
    if (failed(importer.run()))
      return failure();
    SmallVector<Value> operands = importer.finish();
    auto backward = BackwardOp::create(
        outer.builder, loc, ValueRange(yielded).getTypes(), operands, label);
    backward.getBody().takeBody(body);
    for (auto [value, sum] : llvm::zip_equal(values, backward.getOutputs()))
      outer.cotangents[value].value = sum;
  }
  provisional.erase();
  return success();
}
