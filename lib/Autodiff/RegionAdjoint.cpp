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

  SmallVector<Value> cotangents;
  for (auto [yielded, output] :
       llvm::zip_equal(region.getYield()->getOperands(), region->getResults()))
    if (Value cotangent = outer.cotangents.lookup(output);
        cotangent && activity.isActive(yielded)) {
      cotangents.push_back(cotangent);
      if (failed(accumulate(inner, loc, yielded, cotangent)))
        return failure();
    }
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
  if (!yielded.empty()) {
    RegionImporter importer(region, body, cotangents, sums);
    if (failed(importer.run()))
      return failure();
    BackwardOp backward = importer.finish(outer.builder, yielded);
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
