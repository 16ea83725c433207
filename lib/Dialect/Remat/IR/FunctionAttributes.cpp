//===- FunctionAttributes.cpp - remat.* on what others own ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes take the indices and names in these attributes at their word; what is
// wrong in them is said here, where it was written.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/ArgumentIndex.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Shards.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// One attribute of one argument or result of a function.
struct Place {
  Operation *op;
  StringRef kind;
  unsigned index;
  NamedAttribute attribute;

  InFlightDiagnostic emitError() const {
    return op->emitError() << "'" << attribute.getName().getValue() << "' of "
                           << kind << " " << index << " ";
  }

  /// No pass reads it: it may be misspelt.
  LogicalResult refuse(StringRef known) const {
    return op->emitError() << "unknown attribute '"
                           << attribute.getName().getValue() << "' on " << kind
                           << " " << index << "; the remat dialect knows "
                           << known;
  }

  LogicalResult expectName() const {
    auto name = dyn_cast<StringAttr>(attribute.getValue());
    if (name && !name.empty())
      return success();
    return emitError() << "is a name, got " << attribute.getValue();
  }

  LogicalResult expectInteger() const {
    if (isa<IntegerAttr>(attribute.getValue()))
      return success();
    return emitError() << "is an integer, got " << attribute.getValue();
  }

  /// An argument is a parameter, a state or data.
  LogicalResult expectOneRole(Operation *op) const {
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function)
      return success();
    for (StringRef other :
         {opt::OptDialect::getParamAttrName(), RematDialect::getStateAttrName(),
          RematDialect::getDataAttrName()})
      if (other != attribute.getName() && function.getArgAttr(index, other))
        return emitError() << "stands beside '" << other
                           << "', but an argument must be a parameter, a "
                              "state or data";
    return success();
  }

  LogicalResult expectUnit() const {
    if (isa<UnitAttr>(attribute.getValue()))
      return success();
    return emitError() << "has no value, got " << attribute.getValue();
  }

  /// A list of axes for each dimension.
  LogicalResult expectAxes() const {
    auto isAxes = [](Attribute axes) {
      auto list = dyn_cast<ArrayAttr>(axes);
      return list && llvm::all_of(list, llvm::IsaPred<StringAttr>);
    };
    auto dims = dyn_cast<ArrayAttr>(attribute.getValue());
    if (dims && llvm::all_of(dims, isAxes))
      return success();
    return emitError() << "has a list of axes for each dimension, as in "
                          "[[\"data\"], []], got "
                       << attribute.getValue();
  }

  /// The index of an argument of the function that has a value of its own; a
  /// lowered function has other arguments.
  LogicalResult expectArgument() const {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return success();
    if (failed(expectArgumentIndex(function, attribute.getValue(),
                                   [&] { return emitError(); })))
      return failure();
    if (function.getArgAttr(getIndex(), RematDialect::getStepAttrName()))
      return emitError() << "names argument " << getIndex()
                         << ", which is the number of the step";
    return success();
  }

  /// The index of an argument of the result's shape and element type.
  LogicalResult expectUpdatedArgument() const {
    if (failed(expectArgument()))
      return failure();
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return success();
    Type of = function.getArgumentTypes()[getIndex()];
    Type result = function.getResultTypes()[index];
    auto shaped = dyn_cast<ShapedType>(of);
    auto updated = dyn_cast<ShapedType>(result);
    bool isSame = shaped && updated && shaped.hasRank() && updated.hasRank()
                      ? shaped.getShape() == updated.getShape() &&
                            shaped.getElementType() == updated.getElementType()
                      : of == result;
    if (isSame)
      return success();
    return emitError() << "names argument " << getIndex() << " of type " << of
                       << ", but the result, which is its next value, is a "
                       << result;
  }

  int64_t getIndex() const {
    return cast<IntegerAttr>(attribute.getValue()).getInt();
  }
};
} // namespace

LogicalResult RematDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned index,
                                                     NamedAttribute attribute) {
  Place place{op, "argument", index, attribute};
  StringRef name = attribute.getName();
  if (name == getStateAttrName() || name == getDataAttrName())
    return failure(failed(place.expectName()) ||
                   failed(place.expectOneRole(op)));
  if (name == getSeedAttrName() || name == getResultAttrName())
    return place.expectInteger();
  // The names of results that became arguments for memory of the caller.
  if (name == getUpdatesAttrName() || name == getGradientOfAttrName())
    return place.expectArgument();
  if (name == getStepAttrName())
    return place.expectUnit();
  if (name == kShardAttrName || name == kLocalAttrName)
    return place.expectAxes();
  // A result is an argument once memory of the caller's takes its place, and
  // passes add what they tell each other. `remat.init` is checked where its
  // value is read.
  static constexpr StringRef kOthers[] = {
      getInitAttrName(), getLossAttrName(), getMetricAttrName(),
      "remat.arena",     "remat.workspace", "remat.access",
      "remat.bytes",     "remat.traffic"};
  if (llvm::is_contained(kOthers, name))
    return success();
  return place.refuse("remat.data, remat.state, remat.init, remat.seed, "
                      "remat.step, remat.shard, remat.local, remat.result, "
                      "remat.gradient_of and remat.updates");
}

LogicalResult RematDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  Place place{op, "result", index, attribute};
  StringRef name = attribute.getName();
  if (name == getStateAttrName() || name == getMetricAttrName())
    return place.expectName();
  if (name == getLossAttrName())
    return place.expectUnit();
  if (name == getGradientOfAttrName())
    return place.expectArgument();
  if (name == getUpdatesAttrName())
    return place.expectUpdatedArgument();
  return place.refuse("remat.loss, remat.metric, remat.state, "
                      "remat.gradient_of and remat.updates");
}

LogicalResult RematDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  if (attribute.getName() == getWorkspaceBytesAttrName()) {
    auto bytes = dyn_cast<IntegerAttr>(attribute.getValue());
    if (bytes && bytes.getType().isInteger(64) && bytes.getInt() >= 0)
      return success();
    return op->emitError() << "'" << attribute.getName().strref()
                           << "' must be an i64 of at least 0, but got "
                           << attribute.getValue();
  }
  if (attribute.getName() != getPhaseAttrName())
    return success();
  auto phase = dyn_cast<StringAttr>(attribute.getValue());
  if (phase && (phase == kBackwardPhase || phase == kRecomputePhase ||
                phase == kUpdatePhase))
    return success();
  return op->emitError() << "'remat.phase' is \"backward\", \"recompute\" or "
                            "\"update\", got "
                         << attribute.getValue();
}
