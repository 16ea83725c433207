//===- OptDialect.cpp - The opt dialect -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/ArgumentIndex.h"
#include "remat/Dialect/Nearest.h"
#include "remat/Dialect/Opt/IR/Descriptions.h"
#include "remat/Dialect/Opt/IR/Opt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/TypeName.h"

using namespace mlir;
using namespace mlir::opt;

#include "remat/Dialect/Opt/IR/OptDialect.cpp.inc"

#include "remat/Dialect/Opt/IR/OptAttrInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "remat/Dialect/Opt/IR/OptAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "remat/Dialect/Opt/IR/OptTypes.cpp.inc"

void OptDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "remat/Dialect/Opt/IR/OptOps.cpp.inc"
      >();
}

void OptDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "remat/Dialect/Opt/IR/OptAttributes.cpp.inc"
      >();
}

void OptDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "remat/Dialect/Opt/IR/OptTypes.cpp.inc"
      >();
}

template <typename Attr> using TableOf = decltype(Attr::getTable());

/// Adds a description of each attribute that has a table of hyperparameters.
template <typename... Attributes>
static void describe(SmallVectorImpl<TableDescription> &found) {
  auto add = [&](auto attribute) {
    using Attr = decltype(attribute);
    if constexpr (llvm::is_detected<TableOf, Attr>::value) {
      StringRef name = llvm::getTypeName<Attr>().rsplit("::").second;
      found.push_back(
          {name.drop_back(StringRef("Attr").size()), Attr::getMnemonic(),
           std::is_base_of_v<UpdateRuleAttrInterface::Trait<Attr>, Attr>,
           Attr::getTable()});
    }
  };
  (add(Attributes()), ...);
}

SmallVector<TableDescription> mlir::opt::describeTables() {
  SmallVector<TableDescription> found;
  describe<
#define GET_ATTRDEF_LIST
#include "remat/Dialect/Opt/IR/OptAttributes.cpp.inc"
      >(found);
  return found;
}

Attribute OptDialect::parseAttribute(DialectAsmParser &parser,
                                     Type type) const {
  SMLoc loc = parser.getCurrentLocation();
  StringRef mnemonic;
  Attribute attribute;
  if (generatedAttributeParser(parser, &mnemonic, type, attribute).has_value())
    return attribute;
  remat::emitUnknownAttribute<
#define GET_ATTRDEF_LIST
#include "remat/Dialect/Opt/IR/OptAttributes.cpp.inc"
      >(parser, loc, *this, mnemonic);
  return {};
}

void OptDialect::printAttribute(Attribute attribute,
                                DialectAsmPrinter &printer) const {
  (void)generatedAttributePrinter(attribute, printer);
}

//===----------------------------------------------------------------------===//
// Attributes of function arguments
//===----------------------------------------------------------------------===//

/// `name(a, b)` with `count` numbers, or just `name` for none.
static std::optional<SmallVector<double>>
parseCall(StringRef text, StringRef name, unsigned count) {
  if (!text.consume_front(name))
    return std::nullopt;
  SmallVector<double> numbers;
  text = text.trim();
  if (text.consume_front("(")) {
    if (!text.consume_back(")"))
      return std::nullopt;
    SmallVector<StringRef> parts;
    text.split(parts, ',');
    for (StringRef part : parts)
      if (part.trim().getAsDouble(numbers.emplace_back()))
        return std::nullopt;
  } else if (!text.empty()) {
    return std::nullopt;
  }
  if (numbers.size() != count)
    return std::nullopt;
  return numbers;
}

std::string mlir::opt::getParameterName(FunctionOpInterface function,
                                        unsigned argument) {
  Attribute attribute =
      function.getArgAttr(argument, OptDialect::getParamAttrName());
  if (!attribute)
    return {};
  if (auto name = dyn_cast<StringAttr>(attribute))
    return name.str();
  return ("arg" + Twine(argument)).str();
}

FailureOr<Initializer> Initializer::parse(StringRef text) {
  text = text.trim();
  if (parseCall(text, "zeros", 0))
    return Initializer{Kind::Constant, 0, 0};
  if (parseCall(text, "ones", 0))
    return Initializer{Kind::Constant, 1, 0};
  if (auto numbers = parseCall(text, "constant", 1))
    return Initializer{Kind::Constant, (*numbers)[0], 0};
  if (auto numbers = parseCall(text, "normal", 1);
      numbers && (*numbers)[0] >= 0)
    return Initializer{Kind::Normal, 0, (*numbers)[0]};
  if (auto numbers = parseCall(text, "uniform", 2);
      numbers && (*numbers)[0] <= (*numbers)[1])
    return Initializer{Kind::Uniform, (*numbers)[0], (*numbers)[1]};
  return failure();
}

LogicalResult OptDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned argument,
                                                   NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == getParamAttrName()) {
    auto text = dyn_cast<StringAttr>(value);
    if (!isa<UnitAttr>(value) && (!text || text.empty()))
      return op->emitError() << "'opt.param' of argument " << argument
                             << " must be a name or nothing, but got " << value;
    return success();
  }
  if (name == getInitAttrName()) {
    auto text = dyn_cast<StringAttr>(value);
    if (!text || failed(Initializer::parse(text)))
      return op->emitError()
             << "'opt.init' of argument " << argument << " must be one of "
             << Initializer::kChoices << ", but got " << value;
    return success();
  }
  if (name == getStateAttrName()) {
    auto state = dyn_cast<StringAttr>(value);
    if (!state || state.empty())
      return op->emitError() << "'opt.state' of argument " << argument
                             << " must be a name, but got " << value;
    return success();
  }
  if (name == getStateOfAttrName()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return success();
    return remat::expectArgumentIndex(function, value, [&] {
      return op->emitError()
             << "'opt.state_of' of argument " << argument << " ";
    });
  }
  if (name == getStoredAttrName()) {
    auto type = dyn_cast<TypeAttr>(value);
    if (!type || !isa<FloatType, BlockwiseType>(type.getValue()))
      return op->emitError() << "'opt.stored' of argument " << argument
                             << " must be a floating-point type or "
                                "!opt.blockwise<...>, but got "
                             << value;
    return success();
  }
  return op->emitError() << "unknown attribute '" << name << "' on argument "
                         << argument
                         << "; the opt dialect knows opt.param, opt.init, "
                            "opt.state, opt.state_of and opt.stored";
}

//===----------------------------------------------------------------------===//
// GroupAttr
//===----------------------------------------------------------------------===//

Attribute GroupAttr::parse(AsmParser &parser, Type) {
  std::string pattern;
  bool frozen = false;
  NamedAttrList overrides;
  if (parser.parseLess() || parser.parseString(&pattern))
    return {};
  while (parser.parseOptionalComma().succeeded()) {
    StringRef key;
    Attribute value;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&key))
      return {};
    if (key == "frozen") {
      frozen = true;
      continue;
    }
    if (overrides.get(key)) {
      parser.emitError(loc) << "hyperparameter '" << key << "' twice";
      return {};
    }
    if (parser.parseEqual() || parseValue(parser, value))
      return {};
    overrides.append(key, value);
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<GroupAttr>(
      parser.getContext(), StringAttr::get(parser.getContext(), pattern),
      frozen, overrides.getDictionary(parser.getContext()));
}

void GroupAttr::print(AsmPrinter &printer) const {
  printer << "<" << getPattern();
  if (getFrozen())
    printer << ", frozen";
  for (NamedAttribute override : getOverrides()) {
    printer << ", " << override.getName().getValue() << " = ";
    printValue(printer, override.getValue());
  }
  printer << ">";
}

LogicalResult GroupAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                StringAttr pattern, bool frozen,
                                DictionaryAttr overrides) {
  llvm::Expected<llvm::GlobPattern> glob =
      llvm::GlobPattern::create(pattern.getValue());
  if (!glob)
    return emitError() << "pattern " << pattern << " of a parameter group: "
                       << llvm::toString(glob.takeError());
  if (frozen && !overrides.empty())
    return emitError() << "group " << pattern
                       << " is frozen, so its hyperparameters mean nothing";
  if (!frozen && overrides.empty())
    return emitError() << "group " << pattern
                       << " changes nothing; give it a hyperparameter or "
                          "'frozen'";
  return success();
}

bool GroupAttr::matches(StringRef name) const {
  return llvm::cantFail(llvm::GlobPattern::create(getPattern().getValue()))
      .match(name);
}
