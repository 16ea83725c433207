//===- Hyperparameters.cpp - What rules are parameterized by --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Nearest.h"
#include "remat/Dialect/Opt/IR/Opt.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace mlir::opt;

Attribute Hyperparameter::getDefault(MLIRContext *context) const {
  Builder builder(context);
  switch (kind) {
  case Kind::Flag:
    return builder.getBoolAttr(defaultValue != 0);
  case Kind::Count:
    return builder.getI64IntegerAttr(static_cast<int64_t>(defaultValue));
  case Kind::Choice:
    return builder.getStringAttr(choices[static_cast<size_t>(defaultValue)]);
  case Kind::Real:
  case Kind::LearningRate:
    return builder.getF64FloatAttr(defaultValue);
  }
  llvm_unreachable("all kinds are handled");
}

static SmallVector<StringRef> getNames(HyperparameterTable table) {
  return llvm::map_to_vector(
      table, [](const Hyperparameter &entry) { return entry.name; });
}

static const Hyperparameter *lookUp(HyperparameterTable table, StringRef name) {
  const auto *it = llvm::find_if(
      table, [&](const Hyperparameter &entry) { return entry.name == name; });
  return it == table.end() ? nullptr : it;
}

/// Numbers may be written with or without a point; they are kept as f64.
static Attribute normalize(const Hyperparameter &entry, Attribute value) {
  Builder builder(value.getContext());
  bool isReal = entry.kind == Hyperparameter::Kind::Real ||
                entry.kind == Hyperparameter::Kind::LearningRate;
  if (auto number = dyn_cast<FloatAttr>(value); number && isReal)
    return builder.getF64FloatAttr(number.getValueAsDouble());
  if (auto number = dyn_cast<IntegerAttr>(value);
      number && isReal && !isa<BoolAttr>(value))
    return builder.getF64FloatAttr(static_cast<double>(number.getInt()));
  return value;
}

ParseResult mlir::opt::parseValue(AsmParser &parser, Attribute &value) {
  Builder &builder = parser.getBuilder();
  std::string word;
  if (failed(parser.parseOptionalKeywordOrString(&word)))
    return parser.parseAttribute(value);
  if (word == "true" || word == "false")
    value = builder.getBoolAttr(word == "true");
  else
    value = builder.getStringAttr(word);
  return success();
}

void mlir::opt::printValue(AsmPrinter &printer, Attribute value) {
  if (auto word = dyn_cast<StringAttr>(value))
    printer.printKeywordOrString(word);
  else
    printer.printAttributeWithoutType(value);
}

FailureOr<DictionaryAttr>
mlir::opt::parseHyperparameters(AsmParser &parser, HyperparameterTable table,
                                StringRef what) {
  NamedAttrList values;
  SmallVector<StringRef> names = getNames(table);
  auto parseOne = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    Attribute value;
    // Asking for one of the names lets an editor complete them.
    if (parser.parseOptionalKeyword(&name, names)) {
      if (parser.parseKeyword(&name))
        return failure();
      return parser.emitError(loc)
             << what << " has no hyperparameter '" << name << "'; it has "
             << remat::listNearestFirst(name, names);
    }
    const Hyperparameter *entry = lookUp(table, name);
    if (values.get(name))
      return parser.emitError(loc) << "hyperparameter '" << name << "' twice";
    if (parser.parseEqual() || parseValue(parser, value))
      return failure();
    values.append(name, normalize(*entry, value));
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalGreater().failed() &&
      (parser.parseCommaSeparatedList(parseOne) || parser.parseGreater()))
    return failure();
  for (const Hyperparameter &entry : table) {
    if (values.get(entry.name))
      continue;
    if (entry.isRequired()) {
      parser.emitError(loc) << what << " needs '" << entry.name << " = ...'";
      return failure();
    }
    values.append(entry.name, entry.getDefault(parser.getContext()));
  }
  return values.getDictionary(parser.getContext());
}

void mlir::opt::printHyperparameters(AsmPrinter &printer,
                                     HyperparameterTable table,
                                     DictionaryAttr values, bool isFirst) {
  for (const Hyperparameter &entry : table) {
    Attribute value = values.get(entry.name);
    if (!entry.isRequired() && value == entry.getDefault(values.getContext()))
      continue;
    printer << (isFirst ? "" : ", ") << entry.name << " = ";
    printValue(printer, value);
    isFirst = false;
  }
}

static LogicalResult verifyOne(function_ref<InFlightDiagnostic()> emitError,
                               const Hyperparameter &entry, Attribute value,
                               StringRef what) {
  auto isInRange = [&](double number) {
    return std::isfinite(number) && number >= entry.low && number < entry.high;
  };
  auto emitRange = [&]() {
    std::string range;
    llvm::raw_string_ostream os(range);
    bool hasLow = std::isfinite(entry.low), hasHigh = std::isfinite(entry.high);
    if (hasLow)
      os << "at least " << llvm::format("%g", entry.low);
    if (hasHigh)
      os << (hasLow ? " and " : "") << "below "
         << llvm::format("%g", entry.high);
    return emitError() << "'" << entry.name << "' of " << what << " must be "
                       << (range.empty() ? "finite" : range) << ", but got "
                       << value;
  };
  switch (entry.kind) {
  case Hyperparameter::Kind::Flag:
    if (isa<BoolAttr>(value))
      return success();
    return emitError() << "'" << entry.name << "' of " << what
                       << " must be true or false, but got " << value;
  case Hyperparameter::Kind::Count: {
    auto number = dyn_cast<IntegerAttr>(value);
    if (!number || !number.getType().isSignlessInteger(64))
      return emitError() << "'" << entry.name << "' of " << what
                         << " must be a whole number, but got " << value;
    if (!isInRange(static_cast<double>(number.getInt())))
      return emitRange();
    return success();
  }
  case Hyperparameter::Kind::Choice: {
    auto word = dyn_cast<StringAttr>(value);
    if (word && llvm::is_contained(entry.choices, word.getValue()))
      return success();
    InFlightDiagnostic diagnostic = emitError() << "'" << entry.name << "' of "
                                                << what << " must be one of ";
    llvm::interleaveComma(entry.choices, diagnostic);
    return diagnostic << ", but got " << value;
  }
  case Hyperparameter::Kind::LearningRate:
    if (isa<ScheduleAttrInterface, FlatSymbolRefAttr>(value))
      return success();
    [[fallthrough]];
  case Hyperparameter::Kind::Real:
    auto number = dyn_cast<FloatAttr>(value);
    if (!number && entry.kind == Hyperparameter::Kind::LearningRate)
      return emitError()
             << "'" << entry.name << "' of " << what
             << " must be a number, a schedule (#opt.constant<...>, "
                "#opt.linear_warmup_cosine<...>, #opt.step_decay<...>) or a "
                "symbol of a function from i64 to f32 or f64, but got "
             << value;
    if (!number)
      return emitError() << "'" << entry.name << "' of " << what
                         << " must be a number, but got " << value;
    if (!isInRange(number.getValueAsDouble()))
      return emitRange();
    return success();
  }
  llvm_unreachable("all kinds are handled");
}

LogicalResult
mlir::opt::verifyHyperparameters(function_ref<InFlightDiagnostic()> emitError,
                                 HyperparameterTable table,
                                 DictionaryAttr values, StringRef what) {
  for (NamedAttribute value : values)
    if (!lookUp(table, value.getName()))
      return emitError() << what << " has no hyperparameter '"
                         << value.getName().getValue() << "'; it has "
                         << remat::listNearestFirst(value.getName(),
                                                    getNames(table));
  for (const Hyperparameter &entry : table) {
    Attribute value = values.get(entry.name);
    if (!value)
      return emitError() << what << " needs '" << entry.name << " = ...'";
    if (failed(verifyOne(emitError, entry, value, what)))
      return failure();
  }
  return success();
}

FailureOr<DictionaryAttr> mlir::opt::overrideHyperparameters(
    function_ref<InFlightDiagnostic()> emitError, HyperparameterTable table,
    DictionaryAttr values, DictionaryAttr overrides, StringRef what) {
  NamedAttrList result(values);
  for (NamedAttribute override : overrides) {
    const Hyperparameter *entry = lookUp(table, override.getName());
    if (!entry) {
      emitError() << what << " has no hyperparameter '"
                  << override.getName().getValue() << "'; it has "
                  << remat::listNearestFirst(override.getName(),
                                             getNames(table));
      return failure();
    }
    result.set(override.getName(), normalize(*entry, override.getValue()));
  }
  DictionaryAttr dictionary = result.getDictionary(values.getContext());
  if (failed(verifyHyperparameters(emitError, table, dictionary, what)))
    return failure();
  return dictionary;
}
