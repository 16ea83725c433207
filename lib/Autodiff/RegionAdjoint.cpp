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

LogicalResult Adjoint::reverseRegion(RegionOp region, AdjointScope &outer) {
  Location loc = region.getLoc();
  BackwardOp provisional = createProvisionalBackward(outer.builder, loc);
  Region &body = provisional.getBody();
  AdjointScope inner(body.front());

  // Where the outer scope has a sum already, the region adds to it: the
  // gradient of a weight that many regions read then has one buffer.
  Block *forward = region.getBodyBlock();
  SmallVector<Value> inputs(region.getInputs());
  DenseSet<Value> seen, sums;
  for (auto [argument, input] :
       llvm::zip_equal(forward->getArguments(), inputs))
    if (activity.isActive(argument))
      if (Value sum = outer.cotangents.lookup(input);
          sum && seen.insert(input).second) {
        inner.cotangents[argument] = sum;
        sums.insert(sum);
      }
  SmallVector<Value> given =
      llvm::map_to_vector(forward->getArguments(), [&](Value argument) {
        return inner.cotangents.lookup(argument);
      });

  for (auto [yielded, output] :
       llvm::zip_equal(region.getYield()->getOperands(), region->getResults()))
    if (Value cotangent = outer.cotangents.lookup(output);
        cotangent && activity.isActive(yielded) &&
        failed(accumulate(inner, loc, yielded, cotangent)))
      return failure();
  if (failed(reverseBlock(*forward, inner)))
    return failure();

  SmallVector<Value> yielded;
  SmallVector<unsigned> indices;
  SmallVector<std::pair<unsigned, Value>> passedThrough;
  for (auto [index, argument] : llvm::enumerate(forward->getArguments())) {
    Value cotangent = inner.cotangents.lookup(argument);
    if (!cotangent || cotangent == given[index])
      continue;
    if (cotangent.getParentRegion() == &body) {
      indices.push_back(index);
      yielded.push_back(cotangent);
    } else {
      passedThrough.push_back({index, cotangent});
    }
  }
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
    for (auto [index, result] :
         llvm::zip_equal(indices, backward.getOutputs())) {
      if (given[index])
        outer.cotangents[inputs[index]] = result;
      else if (failed(accumulate(outer, loc, inputs[index], result)))
        return failure();
    }
  }
  provisional.erase();
  for (auto [index, cotangent] : passedThrough)
    if (failed(accumulate(outer, loc, inputs[index], cotangent)))
      return failure();
  return success();
}
