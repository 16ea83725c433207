//===- RematAttributes.cpp - Rematerialization policies -------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::remat;

#include "remat/Dialect/Remat/IR/RematAttrInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "remat/Dialect/Remat/IR/RematAttributes.cpp.inc"

void RematDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "remat/Dialect/Remat/IR/RematAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Questions about values
//===----------------------------------------------------------------------===//

bool mlir::remat::isDot(Operation *op) {
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  return linalgOp && (linalg::isaContractionOpInterface(linalgOp) ||
                      linalg::isaConvolutionOpInterface(linalgOp));
}

bool mlir::remat::hasBatchDims(Operation *op) {
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (!linalgOp || !linalg::isaContractionOpInterface(linalgOp))
    return false;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(linalgOp);
  return succeeded(dims) && !dims->batch.empty();
}

static bool hasNameIn(Value value, ArrayRef<StringAttr> names) {
  auto op = value.getDefiningOp<NameOp>();
  return op && llvm::is_contained(names, op.getNameAttr());
}

//===----------------------------------------------------------------------===//
// Policies
//===----------------------------------------------------------------------===//

bool NothingSaveableAttr::isSaveable(Value) const { return false; }
bool EverythingSaveableAttr::isSaveable(Value) const { return true; }

bool DotsSaveableAttr::isSaveable(Value value) const {
  return isDot(value.getDefiningOp());
}

bool DotsWithNoBatchDimsSaveableAttr::isSaveable(Value value) const {
  return isDot(value.getDefiningOp()) && !hasBatchDims(value.getDefiningOp());
}

bool SaveOnlyNamesAttr::isSaveable(Value value) const {
  return hasNameIn(value, getNames());
}

bool SaveAnyNamesButAttr::isSaveable(Value value) const {
  return value.getDefiningOp<NameOp>() && !hasNameIn(value, getNames());
}

bool SaveAnythingExceptNamesAttr::isSaveable(Value value) const {
  if (hasNameIn(value, getNames()))
    return false;
  // Saving the operand of an excluded name would save the very same bits.
  return llvm::none_of(value.getUsers(), [&](Operation *user) {
    auto name = dyn_cast<NameOp>(user);
    return name && llvm::is_contained(getNames(), name.getNameAttr());
  });
}

bool OffloadNamesAttr::isSaveable(Value value) const {
  return hasNameIn(value, getNames());
}
bool OffloadNamesAttr::isOffloadable(Value value) const {
  return isSaveable(value);
}
bool OffloadDotsAttr::isSaveable(Value value) const {
  return isDot(value.getDefiningOp());
}
bool OffloadDotsAttr::isOffloadable(Value value) const {
  return isSaveable(value);
}

bool EveryKAttr::isSaveable(Value value) const {
  Operation *op = value.getDefiningOp();
  auto isBlock = [](Operation &candidate) {
    return isa<RegionOp, CallOpInterface>(candidate);
  };
  if (!op || !isBlock(*op))
    return false;
  int64_t position = 1 + llvm::count_if(llvm::make_range(
                             op->getBlock()->begin(), op->getIterator()),
                         isBlock);
  return position % getK() == 0;
}

bool AnyOfAttr::isSaveable(Value value) const {
  return llvm::any_of(getPolicies(), [&](Attribute policy) {
    return cast<PolicyAttrInterface>(policy).isSaveable(value);
  });
}
bool AnyOfAttr::isOffloadable(Value value) const {
  return llvm::any_of(getPolicies(), [&](Attribute policy) {
    return cast<PolicyAttrInterface>(policy).isOffloadable(value);
  });
}

void SaveOnlyNamesAttr::collectNames(SmallVectorImpl<StringAttr> &out) const {
  llvm::append_range(out, getNames());
}
void SaveAnyNamesButAttr::collectNames(SmallVectorImpl<StringAttr> &out) const {
  llvm::append_range(out, getNames());
}
void SaveAnythingExceptNamesAttr::collectNames(
    SmallVectorImpl<StringAttr> &out) const {
  llvm::append_range(out, getNames());
}
void OffloadNamesAttr::collectNames(SmallVectorImpl<StringAttr> &out) const {
  llvm::append_range(out, getNames());
}
void AnyOfAttr::collectNames(SmallVectorImpl<StringAttr> &out) const {
  for (Attribute policy : getPolicies())
    cast<PolicyAttrInterface>(policy).collectNames(out);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static LogicalResult
verifyNames(function_ref<InFlightDiagnostic()> emitError,
            ArrayRef<StringAttr> names) {
  if (names.empty())
    return emitError() << "a policy on names needs at least one name; use "
                          "#remat.nothing_saveable or "
                          "#remat.everything_saveable instead";
  SmallPtrSet<Attribute, 8> seen;
  for (StringAttr name : names) {
    if (name.getValue().empty())
      return emitError() << "a policy cannot mention the empty name";
    if (!seen.insert(name).second)
      return emitError() << "policy names " << name << " twice";
  }
  return success();
}

LogicalResult
SaveOnlyNamesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                          ArrayRef<StringAttr> names) {
  return verifyNames(emitError, names);
}
LogicalResult
SaveAnyNamesButAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                            ArrayRef<StringAttr> names) {
  return verifyNames(emitError, names);
}
LogicalResult SaveAnythingExceptNamesAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, ArrayRef<StringAttr> names) {
  return verifyNames(emitError, names);
}
LogicalResult
OffloadNamesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         ArrayRef<StringAttr> names) {
  return verifyNames(emitError, names);
}

LogicalResult EveryKAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t k) {
  if (k < 1)
    return emitError() << "every_k needs a positive number, got " << k;
  return success();
}

LogicalResult AnyOfAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<Attribute> policies) {
  if (policies.size() < 2)
    return emitError() << "any_of needs at least two policies";
  for (Attribute policy : policies)
    if (!isa<PolicyAttrInterface>(policy))
      return emitError() << "any_of takes policies, but " << policy
                         << " is none";
  return success();
}
