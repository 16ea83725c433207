//===- CallPairs.cpp - The forward and the backward of a function ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Autodiff/CallPairs.h"

#include "Captures.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Turns what the backward function reads of the forward one into arguments,
/// before those for cotangents.
class CalleeImporter : public CaptureImporter {
public:
  CalleeImporter(CallPair &pair)
      : CaptureImporter(pair.backward.getBody()), pair(pair) {}

  SmallVector<Value> residuals;

private:
  bool isForeign(Value value) override {
    return pair.forward.getBody().isAncestor(value.getParentRegion());
  }
  bool isAvailable(Value value) override { return isa<BlockArgument>(value); }
  Value addArgument(Value value, unsigned read) {
    Block &body = pair.backward.getBody().front();
    Value argument =
        body.insertArgument(pair.reads.size(), value.getType(), value.getLoc());
    pair.reads.push_back(read);
    return argument;
  }
  Value makeAvailable(Value value) override {
    return addArgument(value, cast<BlockArgument>(value).getArgNumber());
  }
  Value save(Value value, OpBuilder &builder) override {
    // A result of the callee need not be returned twice.
    OperandRange returned =
        pair.forward.getBody().front().getTerminator()->getOperands();
    unsigned index = llvm::find(returned, value) - returned.begin();
    if (index == returned.size()) {
      index += residuals.size();
      residuals.push_back(value);
    }
    return addArgument(value, pair.forward.getNumArguments() + index);
  }

  CallPair &pair;
};
} // namespace

/// Gives `function`, whose body is complete, the type that its body has.
static void updateType(func::FuncOp function) {
  Block &body = function.getBody().front();
  unsigned numResults = function.getNumResults();
  TypeRange results = body.getTerminator()->getOperandTypes();
  if (ArrayAttr attributes = function.getResAttrsAttr()) {
    SmallVector<Attribute> extended(attributes.getValue());
    extended.resize(results.size(), DictionaryAttr::get(function.getContext()));
    assert(results.size() >= numResults && "results are only added");
    function.setResAttrsAttr(ArrayAttr::get(function.getContext(), extended));
  }
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             body.getArgumentTypes(), results));
}

LogicalResult mlir::remat::passResiduals(CallPair &pair) {
  CalleeImporter importer(pair);
  if (failed(importer.run()))
    return failure();
  cast<func::ReturnOp>(pair.forward.getBody().front().getTerminator())
      .getOperandsMutable()
      .append(importer.residuals);
  updateType(pair.forward);
  updateType(pair.backward);
  return success();
}
