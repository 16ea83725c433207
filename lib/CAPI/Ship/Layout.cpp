//===- Layout.cpp - Where everything of a shipped step is -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Layout.h"

#include "remat/Runtime/Hash.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::remat;
using ::remat::kShipAlignment;
using ::remat::Role;
using ::remat::ShipArgument;
using ::remat::ShipPlace;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static bool isKeyword(StringRef name) {
  static const llvm::StringSet<> keywords{
      "alignas",   "alignof", "and",       "asm",      "auto",     "bool",
      "break",     "case",    "catch",     "char",     "class",    "compl",
      "concept",   "const",   "constexpr", "continue", "default",  "delete",
      "do",        "double",  "else",      "enum",     "explicit", "export",
      "extern",    "false",   "float",     "for",      "friend",   "goto",
      "if",        "inline",  "int",       "long",     "main",     "mutable",
      "namespace", "new",     "noexcept",  "not",      "nullptr",  "operator",
      "or",        "private", "protected", "public",   "register", "requires",
      "restrict",  "return",  "short",     "signed",   "sizeof",   "static",
      "struct",    "switch",  "template",  "this",     "throw",    "true",
      "try",       "typedef", "typeid",    "typename", "typeof",   "union",
      "unsigned",  "using",   "virtual",   "void",     "volatile", "while",
      "xor"};
  return keywords.contains(name);
}

bool mlir::remat::isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; }) &&
         !isKeyword(name);
}

/// The closest identifier to a name of the model.
static std::string toIdentifier(StringRef name) {
  std::string result;
  for (char c : name)
    result += llvm::isAlnum(c) ? c : '_';
  if (result.empty() || llvm::isDigit(result.front()))
    result.insert(result.begin(), 'a');
  return isKeyword(result) ? result + "_" : result;
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

ShipLayout::ShipLayout(const ::remat::TrainDescription &description,
                       std::string name, std::vector<std::string> rates,
                       ShipWorkspace workspace, int64_t pointerBytes)
    : description(description), name(std::move(name)),
      macro(StringRef(this->name).upper()), rates(std::move(rates)),
      hasEvaluation(!description.evalOutputs.empty()), workspace(workspace),
      pointerBytes(pointerBytes) {
  arguments.resize(description.arguments.size());
  addState();
  addStructs();
  addArena();
}

ShipField ShipLayout::makeField(std::vector<ShipField> &fields, size_t argument,
                                StringRef name) {
  std::string first = toIdentifier(name), unique = first;
  auto isTaken = [&] {
    return llvm::any_of(
        fields, [&](const ShipField &field) { return field.name == unique; });
  };
  for (int number = 2; isTaken(); ++number)
    unique = first + "_" + std::to_string(number);
  return {unique, argument};
}

/// Parameters, the optimizer's states, the model's, and random states, after
/// the struct and the learning rates.
void ShipLayout::addState() {
  stateBytes = llvm::alignTo(::remat::getShipStateBytes(pointerBytes) +
                                 rates.size() * sizeof(double),
                             kShipAlignment);
  for (Role role : {Role::parameter, Role::optimizer, Role::state, Role::random,
                    Role::evalRandom})
    for (auto [number, argument] : llvm::enumerate(description.arguments)) {
      if (argument.role != role)
        continue;
      ShipField field = makeField(state, number, argument.name);
      field.at = stateBytes;
      state.push_back(field);
      int64_t bytes = argument.type.numBytes();
      arguments[number] = {ShipPlace::state, stateBytes, bytes, kShipAlignment};
      stateBytes += llvm::alignTo(bytes, kShipAlignment);
      if (argument.isSaved())
        saved.push_back(number);
    }
  // As `Step.save` does, so that elements are aligned in the file.
  auto key = [&](size_t number) {
    const ::remat::TrainArgument &argument = description.arguments[number];
    return std::make_pair(-static_cast<int64_t>(byteWidth(argument.type.dtype)),
                          StringRef(argument.name));
  };
  llvm::sort(saved, [&](size_t a, size_t b) { return key(a) < key(b); });
}

/// Data are pointers; results are pointers, or values if they are scalars.
void ShipLayout::addStructs() {
  for (auto [number, argument] : llvm::enumerate(description.arguments)) {
    bool isEval = argument.role == Role::evalData;
    if (argument.role != Role::data && !isEval)
      continue;
    std::vector<ShipField> &fields = isEval ? evalBatch : batch;
    ShipField field = makeField(fields, number, argument.name);
    field.at = pointerBytes * fields.size();
    field.isPointer = true;
    fields.push_back(field);
    arguments[number] = {isEval ? ShipPlace::evalBatch : ShipPlace::batch,
                         field.at,
                         static_cast<int64_t>(argument.type.numBytes()),
                         static_cast<int64_t>(byteWidth(argument.type.dtype))};
    if (!isEval)
      batchBytes += argument.type.numBytes();
  }
  auto add = [&](ArrayRef<std::pair<size_t, std::string>> outputs,
                 std::vector<ShipField> &fields, ShipPlace value,
                 ShipPlace pointer) {
    int64_t end = 0;
    for (auto &[number, name] : outputs) {
      const ::remat::ArrayType &type = description.arguments[number].type;
      ShipField field = makeField(fields, number, name);
      field.isPointer = !type.shape.empty();
      int64_t width = byteWidth(type.dtype);
      int64_t bytes = field.isPointer ? pointerBytes : width;
      field.at = llvm::alignTo(end, bytes);
      end = field.at + bytes;
      fields.push_back(field);
      arguments[number] = {field.isPointer ? pointer : value, field.at,
                           static_cast<int64_t>(type.numBytes()), width};
      if (&fields == &results)
        resultBytes += type.numBytes();
    }
  };
  add(description.outputs, results, ShipPlace::result,
      ShipPlace::resultPointer);
  add(description.evalOutputs, evalResults, ShipPlace::evalResult,
      ShipPlace::evalResultPointer);
}

/// The packed arenas, which step and evaluation share; memory of next values
/// that were not written in place; addresses; and the first thread's workspace.
void ShipLayout::addArena() {
  int64_t end = 0;
  for (auto [number, argument] : llvm::enumerate(description.arguments)) {
    int64_t bytes = argument.type.numBytes();
    if (argument.role != Role::arena)
      continue;
    arguments[number] = {ShipPlace::arena, 0, bytes, kShipAlignment};
    end = std::max<int64_t>(end, llvm::alignTo(bytes, kShipAlignment));
  }
  auto isOutput = [&](size_t number) {
    auto isNumber = [&](const auto &output) { return output.first == number; };
    return llvm::any_of(description.outputs, isNumber) ||
           llvm::any_of(description.evalOutputs, isNumber);
  };
  for (auto [number, argument] : llvm::enumerate(description.arguments)) {
    if (argument.role != Role::result || isOutput(number))
      continue;
    int64_t bytes = argument.type.numBytes();
    arguments[number] = {ShipPlace::arena, end, bytes, kShipAlignment};
    end += llvm::alignTo(bytes, kShipAlignment);
  }
  addressesAt = end;
  workspaceAt =
      llvm::alignTo(end + arguments.size() * pointerBytes, kShipAlignment);
  arenaBytes = workspaceAt + workspace.panels + workspace.left + workspace.sums;
  threadBytes = kShipAlignment + arenaBytes - workspaceAt;
}

int64_t ShipLayout::getPeakBytes() const {
  return stateBytes + arenaBytes + batchBytes + resultBytes;
}

std::string ShipLayout::getModel() const {
  std::vector<::remat::ShipRandom> random;
  for (const ShipField &field : state)
    if (get(field).isRandom())
      random.push_back({field.at, get(field).seed});
  std::vector<::remat::ShipSaved> parts;
  for (size_t number : saved)
    parts.push_back({arguments[number].at, arguments[number].bytes});
  ::remat::ShipModel model{0,
                           description.seed,
                           stateBytes,
                           static_cast<int64_t>(rates.size()),
                           hasSchedules ? 0 : 1,
                           static_cast<int64_t>(arguments.size()),
                           static_cast<int64_t>(random.size()),
                           static_cast<int64_t>(parts.size()),
                           arenaBytes,
                           addressesAt,
                           workspaceAt,
                           workspace.panels,
                           workspace.left,
                           workspace.sums,
                           threadBytes};
  auto bytesOf = [](const auto &values) {
    return StringRef(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(values[0]));
  };
  // Names, types and shapes, and where everything is.
  std::string rest =
      (bytesOf(arguments) + bytesOf(random) + bytesOf(parts)).str();
  model.hash = static_cast<int64_t>(::remat::hash(getFileHeader() + rest));
  return std::string(reinterpret_cast<const char *>(&model), sizeof(model)) +
         rest;
}

//===----------------------------------------------------------------------===//
// Headers of files
//===----------------------------------------------------------------------===//

static StringRef getSafetensorsName(::remat::DType type) {
  using ::remat::DType;
  switch (type) {
  case DType::i1:
    return "BOOL";
  case DType::i8:
    return "I8";
  case DType::u8:
    return "U8";
  case DType::i16:
    return "I16";
  case DType::i32:
    return "I32";
  case DType::i64:
    return "I64";
  case DType::f16:
    return "F16";
  case DType::bf16:
    return "BF16";
  case DType::f32:
    return "F32";
  case DType::f64:
    return "F64";
  }
  llvm_unreachable("a type that is not listed");
}

std::string mlir::remat::printString(StringRef text) {
  std::string result = "\"";
  llvm::raw_string_ostream os(result);
  auto escape = [&](unsigned unit) {
    os << "\\u" << llvm::utohexstr(unit, /*LowerCase=*/true, /*Width=*/4);
  };
  const auto *at = reinterpret_cast<const llvm::UTF8 *>(text.begin());
  const auto *end = reinterpret_cast<const llvm::UTF8 *>(text.end());
  while (at != end) {
    llvm::UTF32 c = 0, *to = &c;
    // Bytes that are not UTF-8 are replaced.
    if (llvm::ConvertUTF8toUTF32(
            &at,
            at + std::min<ptrdiff_t>(llvm::getNumBytesForUTF8(*at), end - at),
            &to, to + 1, llvm::strictConversion) != llvm::conversionOK) {
      c = 0xfffd;
      ++at;
    }
    if (c == '"' || c == '\\')
      os << '\\' << static_cast<char>(c);
    else if (c == '\n')
      os << "\\n";
    else if (c == '\t')
      os << "\\t";
    else if (c == '\r')
      os << "\\r";
    else if (c == '\b')
      os << "\\b";
    else if (c == '\f')
      os << "\\f";
    else if (c >= 0x20 && c < 0x7f)
      os << static_cast<char>(c);
    else if (c < 0x10000)
      escape(c);
    else {
      escape(0xd800 + ((c - 0x10000) >> 10));
      escape(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  os << '"';
  return result;
}

std::string mlir::remat::printTensors(ArrayRef<ShipTensor> tensors) {
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t end = 0;
  for (const ShipTensor &tensor : tensors) {
    os << ", " << printString(tensor.name) << ": {\"dtype\": \""
       << getSafetensorsName(tensor.type.dtype) << "\", \"shape\": [";
    llvm::interleaveComma(tensor.type.shape, os);
    os << "], \"data_offsets\": [" << end << ", "
       << end + tensor.type.numBytes() << "]}";
    end += tensor.type.numBytes();
  }
  return text;
}

std::string ShipLayout::getFileHeader() const {
  std::string text = "{\"__metadata__\": {\"format\": \"remat.step.1\", "
                     "\"step\": \"";
  text += ::remat::kShipStepMark;
  text += "\", \"seed\": \"";
  text += ::remat::kShipSeedMark;
  text += "\", \"optimizer\": " + printString(description.optimizer);
  std::string stored;
  for (const ::remat::TrainArgument &argument : description.arguments)
    if (argument.stored)
      stored += argument.name + "\t" + argument.stored->str() + "\n";
  if (!stored.empty())
    text += ", \"remat.stored\": " + printString(stored);
  std::vector<ShipTensor> tensors;
  for (size_t number : saved)
    tensors.push_back({description.arguments[number].name,
                       description.arguments[number].type, nullptr});
  return text + "}" + printTensors(tensors) + "}";
}
