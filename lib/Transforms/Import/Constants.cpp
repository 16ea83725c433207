//===- Constants.cpp - Weights that arrive as constants -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters freeze what a framework calls a parameter. What is to be trained
// has to come in from outside again, without its bytes being copied or printed.
//===----------------------------------------------------------------------===//

#include "Import.h"
#include "remat/Transforms/Utils/Resources.h"

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::remat;

SmallVector<func::FuncOp> remat::getReachableFunctions(func::FuncOp root) {
  SymbolTableCollection symbols;
  llvm::SetVector<func::FuncOp> functions;
  functions.insert(root);
  for (unsigned i = 0; i < functions.size(); ++i) {
    func::FuncOp function = functions[i];
    function.walk([&](func::CallOp call) {
      if (auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
              call, call.getCalleeAttr()))
        functions.insert(callee);
    });
  }
  return functions.takeVector();
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// The bytes of a constant that has one value for each element; empty for a
/// splat.
static ArrayRef<char> getBytes(ElementsAttr value) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob ? blob->getData() : ArrayRef<char>();
  }
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return dense.isSplat() ? ArrayRef<char>() : dense.getRawData();
  return {};
}

/// Why the values cannot be those of a weight, or nothing.
static StringRef getReasonAgainstValues(ElementsAttr value) {
  auto type = cast<FloatType>(value.getElementType());
  unsigned width = type.getWidth() / 8;
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  auto bitsOf = [&](const llvm::APFloat &number) {
    return number.bitcastToAPInt().getZExtValue();
  };
  if (width == 0 || width > 8)
    return "unusual type";
  uint64_t one = bitsOf(llvm::APFloat(semantics, "1"));
  uint64_t infinity = bitsOf(llvm::APFloat::getInf(semantics));
  bool hasZero = false, hasOne = false, hasOther = false;
  ArrayRef<char> bytes = getBytes(value);
  for (size_t i = 0; i + width <= bytes.size(); i += width) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i, width);
    if ((bits & infinity) == infinity)
      return "not all finite";
    hasZero |= bits == 0;
    hasOne |= bits == one;
    hasOther |= bits != 0 && bits != one;
  }
  bool isMask = hasZero && hasOne && !hasOther;
  return isMask && value.getShapedType().getRank() > 1 ? "a mask" : "";
}

static std::pair<Role, std::string> applyRule(const ModelConstant &constant,
                                              const ImportRules &rules) {
  ShapedType type = constant.value.getShapedType();
  if (!isa<FloatType>(type.getElementType()))
    return {Role::data, "no floating-point numbers"};
  if (constant.resource.empty() && constant.value.isSplat())
    return {Role::data, "one value throughout"};
  if (static_cast<uint64_t>(type.getRank()) < rules.minRank)
    return {Role::data, "fewer dimensions than min-rank"};
  if (static_cast<uint64_t>(type.getNumElements()) < rules.minElements)
    return {Role::data, "fewer elements than min-elements"};
  if (StringRef reason = getReasonAgainstValues(constant.value);
      !reason.empty())
    return {Role::data, reason.str()};
  return {Role::parameter, constant.resource.empty()
                               ? "floating-point values in the text"
                               : "floating-point resource"};
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

static FailureOr<SmallVector<ModelConstant>>
collectConstants(func::FuncOp root) {
  SmallVector<ModelConstant> constants;
  llvm::DenseMap<Attribute, unsigned> ofResource;
  unsigned inText = 0;
  for (func::FuncOp function : getReachableFunctions(root)) {
    WalkResult result = function.walk([&](arith::ConstantOp op) {
      auto value = dyn_cast<ElementsAttr>(op.getValue());
      if (!value || !isa<RankedTensorType>(op.getType()))
        return WalkResult::advance();
      auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue());
      if (!resource) {
        StringRef name = getNameOf(op.getLoc());
        constants.push_back({value, {}, {op}, {}});
        constants.back().decision.name =
            name.empty() ? "constant" + std::to_string(inText) : name.str();
        ++inText;
        return WalkResult::advance();
      }
      if (failed(checkResource(op, resource)))
        return WalkResult::interrupt();
      auto [it, isNew] = ofResource.try_emplace(resource, constants.size());
      if (!isNew) {
        constants[it->second].uses.push_back(op);
        return WalkResult::advance();
      }
      StringRef key = resource.getRawHandle().getKey();
      constants.push_back({value, key, {op}, {}});
      constants.back().decision.name = key.str();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return constants;
}

/// Returns true if it is a number such as the zero of a mask or a count.
static bool isWholeNumber(ElementsAttr value) {
  if (!value.isSplat() || !isa<FloatType>(value.getElementType()))
    return false;
  auto number = value.getSplatValue<llvm::APFloat>();
  return !number.isFinite() || number.isInteger();
}

/// Returns the constant that an entry of the description means, null if the
/// function no longer has it.
static FailureOr<ModelConstant *>
findConstant(func::FuncOp root, MutableArrayRef<ModelConstant> constants,
             const ExportSpec &spec, const SpecEntry &entry) {
  if (!entry.resource.empty()) {
    for (ModelConstant &constant : constants)
      if (constant.resource == entry.resource) {
        if (failed(checkEntry(spec, entry, constant.value.getType(),
                              constant.uses.front().getLoc(),
                              "dense_resource<" + entry.resource + ">")))
          return failure();
        return &constant;
      }
    return emitError(root.getLoc())
           << "'" << entry.name << "' is dense_resource<" << entry.resource
           << "> by " << spec.path << ", but no constant of @" << root.getName()
           << " is";
  }
  // Among several of one type, nothing says which is which.
  auto isOfType = [&](const SpecEntry &other) {
    return other.resource.empty() && other.shape == entry.shape &&
           other.dtype == entry.dtype;
  };
  if (!entry.shape || llvm::count_if(spec.constants, isOfType) > 1)
    return nullptr;
  SmallVector<ModelConstant *> found;
  for (ModelConstant &constant : constants) {
    ShapedType type = constant.value.getShapedType();
    std::string dtype;
    llvm::raw_string_ostream(dtype) << type.getElementType();
    if (constant.resource.empty() &&
        ArrayRef(*entry.shape) == type.getShape() &&
        (entry.dtype.empty() || entry.dtype == dtype))
      found.push_back(&constant);
  }
  if (found.size() > 1) {
    llvm::erase_if(found, [](ModelConstant *constant) {
      return isWholeNumber(constant->value);
    });
    if (found.size() == 1)
      emitWarning(found[0]->uses.front().getLoc())
          << "this is taken for '" << entry.name << "' of " << spec.path
          << ", which has no resource: the other constants of its type are "
             "whole numbers, which programs write themselves";
  }
  return found.size() == 1 ? found[0] : nullptr;
}

/// Returns true if a result is the new value of a buffer.
static bool isUpdated(const ExportSpec &spec, const SpecEntry &buffer) {
  return llvm::any_of(spec.results, [&](const SpecEntry &result) {
    return result.role == "buffer_update" && result.name == buffer.name;
  });
}

static LogicalResult applySpec(func::FuncOp root,
                               MutableArrayRef<ModelConstant> constants,
                               const ExportSpec &spec) {
  llvm::SmallPtrSet<ModelConstant *, 16> taken;
  for (const SpecEntry &entry : spec.constants) {
    FailureOr<ModelConstant *> found =
        findConstant(root, constants, spec, entry);
    if (failed(found))
      return failure();
    if (!*found) {
      if (entry.role == "parameter" || isUpdated(spec, entry))
        emitWarning(root.getLoc())
            << entry.role << " '" << entry.name << "' of " << spec.path
            << " has no resource, and not exactly one constant of its type "
               "stands in the text: it stays as it is";
      continue;
    }
    // Two names of one resource are one parameter.
    if (!taken.insert(*found).second)
      continue;
    Decision &decision = (*found)->decision;
    decision.name = entry.name;
    decision.role = entry.role == "parameter" ? Role::parameter
                    : isUpdated(spec, entry)  ? Role::state
                                              : Role::data;
    decision.why = spec.quote(entry);
  }
  for (ModelConstant &constant : constants)
    if (!taken.contains(&constant))
      constant.decision.why = "not in the description";
  return success();
}

FailureOr<SmallVector<ModelConstant>>
remat::decideConstants(func::FuncOp root, const ExportSpec *spec,
                       const ImportRules &rules) {
  FailureOr<SmallVector<ModelConstant>> constants = collectConstants(root);
  if (failed(constants))
    return failure();
  if (spec && failed(applySpec(root, *constants, *spec)))
    return failure();
  llvm::StringSet<> names;
  for (ModelConstant &constant : *constants) {
    Decision &decision = constant.decision;
    if (!spec)
      std::tie(decision.role, decision.why) = applyRule(constant, rules);
    if (matchesAny(rules.data, decision.name)) {
      decision.role = Role::data;
      decision.why = "data=";
    } else if (isChosenParameter(rules, decision.name,
                                 constant.value.getType())) {
      decision.role = Role::parameter;
      decision.why = "params=";
    }
    if (decision.role == Role::parameter &&
        !isa<FloatType>(constant.value.getElementType()))
      return constant.uses.front().emitError()
             << "constant '" << decision.name << "' is a parameter ("
             << decision.why << "), but has type " << constant.value.getType()
             << "; parameters are floating-point numbers";
    std::string name = decision.name;
    for (unsigned i = 1; !names.insert(decision.name).second; ++i)
      decision.name = name + "_" + std::to_string(i);
  }
  return constants;
}

//===----------------------------------------------------------------------===//
// Constants to arguments
//===----------------------------------------------------------------------===//

namespace {
/// Brings constants from the root's arguments to where they are used.
class Hoisting {
public:
  explicit Hoisting(func::FuncOp root) : root(root) {
    for (func::FuncOp function : getReachableFunctions(root))
      reachable.insert(function);
    SymbolTableCollection symbols;
    root->getParentOfType<ModuleOp>().walk([&](func::CallOp call) {
      calls[symbols.lookupNearestSymbolFrom(call, call.getCalleeAttr())]
          .push_back(call);
    });
  }

  void hoist(const ModelConstant &constant) {
    values.clear();
    // The argument's location is the first use's: those go last.
    for (arith::ConstantOp op : constant.uses)
      op.replaceAllUsesWith(
          getValueIn(op->getParentOfType<func::FuncOp>(), constant));
    for (arith::ConstantOp op : constant.uses)
      op.erase();
  }

private:
  DictionaryAttr getAttributes(const ModelConstant &constant) {
    Builder builder(root.getContext());
    Attribute name = builder.getStringAttr(constant.decision.name);
    bool isParameter = constant.decision.role == Role::parameter;
    return builder.getDictionaryAttr(
        {builder.getNamedAttr(isParameter ? opt::OptDialect::getParamAttrName()
                                          : RematDialect::getStateAttrName(),
                              name),
         builder.getNamedAttr(RematDialect::getInitAttrName(),
                              constant.value)});
  }

  /// The constant as a value of `function`: an argument, for which every caller
  /// gets one more operand, or a constant where the root does not lead.
  Value getValueIn(func::FuncOp function, const ModelConstant &constant) {
    auto [it, isNew] = values.try_emplace(function, Value());
    if (!isNew)
      return it->second;
    arith::ConstantOp first = constant.uses.front();
    Location loc = first.getLoc();
    if (!reachable.contains(function)) {
      auto builder = OpBuilder::atBlockBegin(&function.front());
      return values[function] = arith::ConstantOp::create(
                 builder, loc, cast<TypedAttr>(Attribute(constant.value)));
    }
    unsigned position = function.getNumArguments();
    (void)function.insertArgument(
        position, constant.value.getType(),
        function == root ? getAttributes(constant) : DictionaryAttr(), loc);
    Value argument = function.getArgument(position);
    values[function] = argument;
    if (function != root)
      for (func::CallOp call : calls.lookup(function))
        call.getOperandsMutable().append(
            getValueIn(call->getParentOfType<func::FuncOp>(), constant));
    return argument;
  }

  func::FuncOp root;
  DenseSet<Operation *> reachable;
  DenseMap<Operation *, SmallVector<func::CallOp>> calls;
  /// Of the constant that is hoisted, in each function.
  DenseMap<Operation *, Value> values;
};
} // namespace

void remat::hoistConstants(func::FuncOp root,
                           ArrayRef<ModelConstant> constants) {
  Hoisting hoisting(root);
  for (const ModelConstant &constant : constants)
    if (constant.decision.role != Role::data)
      hoisting.hoist(constant);
}
