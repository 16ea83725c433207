//===- BranchAdjoint.cpp - Backward of scf.if and its kin -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where residuals of branches come into being: the backward of a
// branch makes the forward's choice again.
//===----------------------------------------------------------------------===//

#include "Adjoint.h"
#include "Captures.h"

#include "remat/Dialect/Remat/IR/Branches.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Turns what the backward of one region of a branch reads of that region into
/// results of the branch.
class BranchImporter : public CaptureImporter {
public:
  BranchImporter(Region &forward, Region &backward)
      : CaptureImporter(backward), forward(forward) {}

  SmallVector<Value> saved;
  /// Stand for the results until the branch has them.
  SmallVector<Operation *> standIns;

private:
  bool isForeign(Value value) override {
    return forward.isAncestor(value.getParentRegion());
  }
  bool isAvailable(Value value) override { return false; }
  Value makeAvailable(Value value) override { return {}; }
  Value save(Value value, OpBuilder &builder) override {
    saved.push_back(value);
    standIns.push_back(UnrealizedConversionCastOp::create(
        builder, value.getLoc(), value.getType(), ValueRange()));
    return standIns.back()->getResult(0);
  }

  Region &forward;
};
} // namespace

LogicalResult Adjoint::reverseBranch(Operation *branch, AdjointScope &outer) {
  Location loc = branch->getLoc();
  FailureOr<SmallVector<Value>> captures =
      collectActiveCaptures(branch, activity, outer.keys);
  if (failed(captures))
    return failure();
  SmallVector<Value> sums = llvm::map_to_vector(
      *captures, [&](Value value) { return outer.getCotangent(value); });

  // Each region adds to the sums that there are, or starts its own.
  SmallVector<BackwardOp> provisional;
  SmallVector<SmallVector<Value>> cotangents;
  llvm::BitVector changed(captures->size());
  for (Region &region : branch->getRegions()) {
    provisional.push_back(createProvisionalBackward(outer.builder, loc));
    AdjointScope inner(*provisional.back().getBodyBlock(), outer.keys);
    for (auto [value, sum] : llvm::zip_equal(*captures, sums))
      if (sum) {
        inner.setCotangent(value, sum);
        inner.accumulators.insert(sum);
      }
    for (auto [yielded, result] :
         llvm::zip_equal(region.front().getTerminator()->getOperands(),
                         branch->getResults()))
      if (Value cotangent = outer.getCotangent(result);
          cotangent && activity.isActive(yielded) &&
          failed(accumulate(inner, loc, yielded, cotangent)))
        return failure();
    if (failed(reverseBlock(region.front(), inner)))
      return failure();
    SmallVector<Value> &its = cotangents.emplace_back();
    for (auto [index, value, sum] : llvm::enumerate(*captures, sums)) {
      its.push_back(inner.getCotangent(value));
      if (its.back() != sum)
        changed.set(index);
    }
  }
  if (changed.none()) {
    for (BackwardOp backward : provisional)
      backward.erase();
    return success();
  }

  OperationState state(loc, branch->getName());
  state.addOperands(branch->getOperands());
  state.propertiesAttr = branch->getPropertiesAsAttribute();
  for (unsigned index : changed.set_bits())
    state.addTypes((*captures)[index].getType());
  for (auto [backward, its] : llvm::zip_equal(provisional, cotangents)) {
    Block *body = backward.getBodyBlock();
    OpBuilder builder = OpBuilder::atBlockEnd(body);
    SmallVector<Value> yielded;
    for (unsigned index : changed.set_bits())
      yielded.push_back(
          its[index] ? its[index]
                     : createZerosLike(builder, loc, (*captures)[index]));
    scf::YieldOp::create(builder, loc, yielded);
    eraseDead(*body);
    state.addRegion()->takeBody(backward.getBody());
    backward.erase();
  }
  Operation *backward = outer.builder.create(state);

  SmallVector<Value> saved;
  SmallVector<Operation *> standIns;
  for (auto [from, to] :
       llvm::zip_equal(branch->getRegions(), backward->getRegions())) {
    BranchImporter importer(from, to);
    if (failed(importer.run()))
      return failure();
    llvm::append_range(saved, importer.saved);
    llvm::append_range(standIns, importer.standIns);
  }
  Operation *saving = appendBranchResults(branch, saved);
  for (auto [standIn, result] : llvm::zip_equal(
           standIns, saving->getResults().take_back(saved.size()))) {
    standIn->getResult(0).replaceAllUsesWith(result);
    standIn->erase();
  }
  for (auto [index, result] :
       llvm::zip_equal(changed.set_bits(), backward->getResults()))
    outer.setCotangent((*captures)[index], result);
  return success();
}
