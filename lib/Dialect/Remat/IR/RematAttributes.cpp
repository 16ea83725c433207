//===- RematAttributes.cpp - Rematerialization policies -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Nearest.h"
#include "remat/Dialect/Remat/IR/Branches.h"
#include "remat/Dialect/Remat/IR/Policies.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Plan/Budget.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::remat;

#include "remat/Dialect/Remat/IR/RematEnums.cpp.inc"

#include "remat/Dialect/Remat/IR/RematAttrInterfaces.cpp.inc"

/// Reads a number of bytes, or text with a unit.
static ParseResult parseBytes(AsmParser &parser, int64_t &bytes) {
  OptionalParseResult number = parser.parseOptionalInteger(bytes);
  if (number.has_value())
    return *number;
  SMLoc loc = parser.getCurrentLocation();
  std::string text, error;
  if (parser.parseString(&text))
    return failure();
  std::optional<::remat::plan::Budget> budget =
      ::remat::plan::parseBudget(text, error);
  if (budget && budget->fraction != 0)
    error = "a fraction has no whole here; give bytes, such as \"10MiB\"";
  if (!error.empty())
    return parser.emitError(loc) << error;
  bytes = budget->bytes;
  return success();
}

static void printBytes(AsmPrinter &printer, int64_t bytes) { printer << bytes; }

/// Reads a number, or text with bytes; the other one of the two is 0.
static ParseResult parseCountOrBytes(AsmParser &parser, int64_t &count,
                                     int64_t &bytes) {
  count = bytes = 0;
  OptionalParseResult number = parser.parseOptionalInteger(count);
  return number.has_value() ? *number : parseBytes(parser, bytes);
}

static void printCountOrBytes(AsmPrinter &printer, int64_t count,
                              int64_t bytes) {
  if (bytes != 0)
    printer << '"' << bytes << '"';
  else
    printer << count;
}

#define GET_ATTRDEF_CLASSES
#include "remat/Dialect/Remat/IR/RematAttributes.cpp.inc"

void RematDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "remat/Dialect/Remat/IR/RematAttributes.cpp.inc"
      >();
}

Attribute RematDialect::parseAttribute(DialectAsmParser &parser,
                                       Type type) const {
  SMLoc loc = parser.getCurrentLocation();
  StringRef mnemonic;
  Attribute attribute;
  if (generatedAttributeParser(parser, &mnemonic, type, attribute).has_value())
    return attribute;
  emitUnknownAttribute<
#define GET_ATTRDEF_LIST
#include "remat/Dialect/Remat/IR/RematAttributes.cpp.inc"
      >(parser, loc, *this, mnemonic);
  return {};
}

void RematDialect::printAttribute(Attribute attribute,
                                  DialectAsmPrinter &printer) const {
  (void)generatedAttributePrinter(attribute, printer);
}

//===----------------------------------------------------------------------===//
// Questions about values
//===----------------------------------------------------------------------===//

/// Returns true if `op` adds up products of its operands. A pooling has a
/// convolution's loops and maps, but not its body.
static bool sumsProducts(linalg::LinalgOp op) {
  return linalg::detail::isContractionBody(
      *op.getBlock(), [](Operation *combine, Operation *reduce) {
        return isa<arith::MulFOp, arith::MulIOp, complex::MulOp>(combine) &&
               isa<arith::AddFOp, arith::AddIOp, complex::AddOp>(reduce);
      });
}

bool mlir::remat::isDot(Operation *op) {
  if (isa_and_nonnull<AttentionOp, AttentionBackwardOp, ConvOp,
                      ConvBackwardDataOp, ConvBackwardFilterOp>(op))
    return true;
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  return linalgOp && (linalg::isaContractionOpInterface(linalgOp) ||
                      (linalg::isaConvolutionOpInterface(linalgOp) &&
                       sumsProducts(linalgOp)));
}

bool mlir::remat::hasBatchDims(Operation *op) {
  if (isa_and_nonnull<AttentionOp, AttentionBackwardOp>(op))
    return true;
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (!linalgOp || !linalg::isaContractionOpInterface(linalgOp))
    return false;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(linalgOp);
  return succeeded(dims) && !dims->batch.empty();
}

Value mlir::remat::getZeroFilled(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.value(), m_AnyZeroFloat()))
    return {};
  return fill.output();
}

Value mlir::remat::lookThroughNames(Value value) {
  while (auto name = value.getDefiningOp<NameOp>())
    value = name.getValue();
  return value;
}

/// Returns the value yielded for a result of a region, of a called function, or
/// of a branch that is undefined if not taken; null for any other value.
static Value getInnerValue(OpResult result) {
  if (auto region = dyn_cast<RegionOp>(result.getOwner()))
    return region.getYield()->getOperand(result.getResultNumber());
  if (isBranch(result.getOwner()))
    return getOnlyDefinedValue(result);
  auto call = dyn_cast<CallOpInterface>(result.getOwner());
  if (!call)
    return {};
  auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
  if (!callee || callee.isExternal() ||
      !llvm::hasSingleElement(callee.getFunctionBody()))
    return {};
  Operation *end = callee.getFunctionBody().front().getTerminator();
  return result.getResultNumber() < end->getNumOperands()
             ? end->getOperand(result.getResultNumber())
             : Value();
}

SmallVector<Value> mlir::remat::getAliases(Value value) {
  SetVector<Value> aliases;
  while (value) {
    value = lookThroughNames(value);
    if (!aliases.insert(value))
      break;
    for (unsigned next = aliases.size() - 1; next < aliases.size(); ++next)
      for (Operation *user : aliases[next].getUsers())
        if (auto name = dyn_cast<NameOp>(user))
          aliases.insert(name.getResult());
    auto result = dyn_cast<OpResult>(value);
    value = result ? getInnerValue(result) : Value();
  }
  return aliases.takeVector();
}

bool mlir::remat::isMadeBy(Value value, function_ref<bool(Operation *)> test) {
  return llvm::any_of(getAliases(value),
                      [&](Value alias) { return test(alias.getDefiningOp()); });
}

SmallVector<StringAttr> mlir::remat::getNamesOf(Value value) {
  SmallVector<StringAttr> names;
  auto add = [&](ArrayRef<Value> aliases) {
    for (Value alias : aliases)
      if (auto op = alias.getDefiningOp<NameOp>())
        names.push_back(op.getNameAttr());
  };
  SmallVector<Value> aliases = getAliases(value);
  add(aliases);
  // The result alone would save nothing: the backward needs a number for each
  // row as well, which no model has a name for.
  for (Value alias : aliases)
    if (auto attention = alias.getDefiningOp<AttentionOp>())
      if (alias != attention->getResult(0))
        add(getAliases(attention->getResult(0)));
  return names;
}

bool mlir::remat::hasNameIn(Value value, ArrayRef<StringAttr> names) {
  return llvm::any_of(getNamesOf(value), [&](StringAttr name) {
    return llvm::is_contained(names, name);
  });
}

//===----------------------------------------------------------------------===//
// Policies
//===----------------------------------------------------------------------===//

std::string mlir::remat::listPolicies() {
  return listAttributes<PolicyAttrInterface::Trait,
#define GET_ATTRDEF_LIST
#include "remat/Dialect/Remat/IR/RematAttributes.cpp.inc"
                        >("");
}

template <typename PolicyAttr>
using NamesOf = decltype(std::declval<PolicyAttr>().getNames());

/// Adds a description of each attribute that is a policy.
template <typename... Attributes>
static void describe(SmallVectorImpl<PolicyDescription> &found) {
  using Parameters = PolicyDescription::Parameters;
  auto add = [&](auto attribute) {
    using Attr = decltype(attribute);
    Parameters parameters = Parameters::Other;
    if (std::is_same_v<typename Attr::ImplType, AttributeStorage>)
      parameters = Parameters::None;
    else if (llvm::is_detected<NamesOf, Attr>::value)
      parameters = Parameters::Names;
    if (std::is_base_of_v<PolicyAttrInterface::Trait<Attr>, Attr>)
      found.push_back({Attr::getMnemonic(), parameters});
  };
  (add(Attributes()), ...);
}

SmallVector<PolicyDescription> mlir::remat::describePolicies() {
  SmallVector<PolicyDescription> found;
  describe<
#define GET_ATTRDEF_LIST
#include "remat/Dialect/Remat/IR/RematAttributes.cpp.inc"
      >(found);
  return found;
}

FailureOr<PolicyAttrInterface>
mlir::remat::parsePolicy(Location loc, StringRef text, StringRef others) {
  std::string attribute = text.str();
  if (!text.starts_with("#"))
    attribute = "#remat." + attribute;
  auto policy = dyn_cast_or_null<PolicyAttrInterface>(
      parseAttribute(attribute, loc.getContext()));
  if (!policy)
    return emitError(loc) << "policy=" << text << " is no policy; choose "
                          << others << listPolicies();
  return policy;
}

bool EveryKAttr::isSaveable(Value value) const {
  auto isBlock = [](Operation &candidate) {
    return isa<RegionOp, CallOpInterface>(candidate);
  };
  auto result = dyn_cast<OpResult>(lookThroughNames(value));
  if (!result || !isBlock(*result.getOwner()))
    return false;
  Operation *op = result.getOwner();
  if (auto region = dyn_cast<RegionOp>(op);
      region && result.getResultNumber() >= region.getOutputs().size())
    return false;
  int64_t position =
      1 + llvm::count_if(
              llvm::make_range(op->getBlock()->begin(), op->getIterator()),
              isBlock);
  return position % getK() == 0;
}

bool mlir::remat::selectsTogether(Attribute policy) {
  return isa<BudgetAttr, MinCutAttr>(policy);
}

// These choose among all values of a region, which is no question about one.
bool BudgetAttr::isSaveable(Value) const { return false; }
bool MinCutAttr::isSaveable(Value) const { return false; }

bool SnapshotsAttr::isSaveable(Value) const { return true; }

std::optional<int64_t> SnapshotsAttr::countSnapshots(int64_t bytes) const {
  if (getBytes() == 0)
    return getCount();
  // The state before the last iteration has a place of its own.
  return bytes <= 0 ? 0 : std::max<int64_t>(getBytes() / bytes - 1, 0);
}

std::optional<int64_t> AnyOfAttr::countSnapshots(int64_t bytes) const {
  std::optional<int64_t> most;
  for (Attribute policy : getPolicies())
    most =
        std::max(most, cast<PolicyAttrInterface>(policy).countSnapshots(bytes));
  return most;
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

bool AnyOfAttr::savesByName(Value value, StringRef name) const {
  return llvm::any_of(getPolicies(), [&](Attribute policy) {
    return cast<PolicyAttrInterface>(policy).savesByName(value, name);
  });
}

// Whichever name it is: it would not be saved without one.
bool SaveAnyNamesButAttr::savesByName(Value value, StringRef) const {
  return isSaveable(value);
}

void AnyOfAttr::collectNames(SmallVectorImpl<StringAttr> &out) const {
  for (Attribute policy : getPolicies())
    cast<PolicyAttrInterface>(policy).collectNames(out);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult
mlir::remat::verifyPolicyNames(function_ref<InFlightDiagnostic()> emitError,
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

LogicalResult EveryKAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t k) {
  if (k < 1)
    return emitError() << "every_k needs a positive number, got " << k;
  return success();
}

LogicalResult BudgetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t bytes) {
  if (bytes < 0)
    return emitError() << "budget needs bytes from 0 on, got " << bytes;
  return success();
}

LogicalResult
SnapshotsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t count, int64_t bytes) {
  if (count < 0 || bytes < 0 || (count == 0) == (bytes == 0))
    return emitError() << "snapshots needs a number of states from 1 on, or "
                          "text with bytes, such as \"4MiB\", got "
                       << count;
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
    else if (selectsTogether(policy))
      return emitError() << policy
                         << " chooses among all values of a region and cannot "
                            "be a member of any_of";
  return success();
}
