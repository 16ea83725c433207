//===- ExportSpec.cpp - Description of an exported model ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ExportSpec.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::remat;

namespace json = llvm::json;

namespace mlir::remat {
static bool fromJSON(const json::Value &value, SpecEntry &entry,
                     json::Path path) {
  json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("name", entry.name) &&
         mapper.map("role", entry.role) &&
         mapper.mapOptional("shape", entry.shape) &&
         mapper.mapOptional("dtype", entry.dtype) &&
         mapper.mapOptional("resource", entry.resource);
}
} // namespace mlir::remat

/// Maps one list and checks its roles.
static bool mapEntries(json::ObjectMapper &mapper, json::Path path,
                       StringLiteral key, std::vector<SpecEntry> &entries,
                       ArrayRef<StringRef> roles, llvm::StringLiteral message) {
  if (!mapper.mapOptional(key, entries))
    return false;
  for (auto [index, entry] : llvm::enumerate(entries))
    if (!llvm::is_contained(roles, entry.role)) {
      path.field(key).index(index).field("role").report(message);
      return false;
    }
  return true;
}

static bool mapSpec(const json::Value &value, ExportSpec &spec,
                    json::Path path) {
  json::ObjectMapper mapper(value, path);
  constexpr llvm::StringLiteral values = "expected parameter, buffer or data";
  return mapper && mapper.mapOptional("function", spec.function) &&
         mapEntries(mapper, path, "arguments", spec.arguments,
                    {"parameter", "buffer", "data"}, values) &&
         mapEntries(mapper, path, "constants", spec.constants,
                    {"parameter", "buffer", "data"}, values) &&
         mapEntries(mapper, path, "results", spec.results,
                    {"loss", "output", "buffer_update"},
                    "expected loss, output or buffer_update");
}

/// The place in `text` that a message of the parser, `[line:column, ...`,
/// names.
static Location getPlace(MLIRContext *context, StringRef path,
                         StringRef message) {
  unsigned line = 1, column = 1;
  message.consume_front("[");
  if (!message.consumeInteger(10, line) && message.consume_front(":"))
    (void)message.consumeInteger(10, column);
  return FileLineColLoc::get(context, path, line, column);
}

/// The leaf of a tree that is nothing else has an empty path.
static void fillNames(ExportSpec &spec) {
  for (auto &[list, prefix] : {std::pair(&spec.arguments, "arg"),
                               std::pair(&spec.constants, "constant")})
    for (auto [index, entry] : llvm::enumerate(*list))
      if (entry.name.empty())
        entry.name = prefix + std::to_string(index);
}

/// An entry has one name and one meaning. Frameworks have the examples' names
/// apart from those of weights.
static LogicalResult checkNames(const ExportSpec &spec, Location place) {
  llvm::StringSet<> names, weights, examples, updates, metrics;
  unsigned losses = 0;
  for (const auto *list : {&spec.arguments, &spec.constants})
    for (const SpecEntry &entry : *list) {
      names.insert(entry.name);
      bool isNew =
          (entry.role == "data" ? examples : weights).insert(entry.name).second;
      if (!isNew)
        return emitError(place)
               << "two entries are called '" << entry.name << "'";
    }
  for (const SpecEntry &entry : spec.results) {
    losses += entry.role == "loss";
    if (entry.role == "output" && entry.name == "loss")
      return emitError(place) << "an output is called 'loss', as the result "
                                 "with the role loss is";
    if (entry.role == "output" && !entry.name.empty() &&
        !metrics.insert(entry.name).second)
      return emitError(place)
             << "two outputs are called '" << entry.name << "'";
    if (entry.role == "buffer_update" && !names.contains(entry.name))
      return emitError(place)
             << "a result is the new value of the buffer '" << entry.name
             << "', which is no argument and no constant";
    if (entry.role == "buffer_update" && !updates.insert(entry.name).second)
      return emitError(place) << "two results are the new value of the buffer '"
                              << entry.name << "'";
  }
  if (!spec.results.empty() && losses != 1)
    return emitError(place)
           << "expects one result with the role loss, got " << losses;
  return success();
}

std::string ExportSpec::quote(const SpecEntry &entry) const {
  return (llvm::sys::path::filename(path) + " says " + entry.role).str();
}

/// A description in the options is called so in messages.
static constexpr llvm::StringLiteral kInlineName = "spec";

FailureOr<ExportSpec> ExportSpec::read(StringRef text, Location loc) {
  if (text.starts_with("{"))
    return parse(text, kInlineName, loc);
  auto file = llvm::MemoryBuffer::getFile(text);
  if (!file)
    return emitError(loc) << "spec=" << text
                          << ": cannot be read: " << file.getError().message();
  return parse((*file)->getBuffer(), text, loc);
}

FailureOr<ExportSpec> ExportSpec::parse(StringRef text, StringRef path,
                                        Location loc) {
  MLIRContext *context = loc.getContext();
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value) {
    std::string message = llvm::toString(value.takeError());
    StringRef text = message;
    return emitError(getPlace(context, path, message))
           << "no JSON: " << text.substr(text.find("]: ") + 3);
  }
  ExportSpec spec;
  spec.path = path;
  json::Path::Root root("description");
  Location place = FileLineColLoc::get(context, path, 1, 1);
  if (!mapSpec(*value, spec, root))
    return emitError(place) << llvm::toString(root.getError());
  fillNames(spec);
  if (failed(checkNames(spec, place)))
    return failure();
  return spec;
}

LogicalResult remat::checkEntry(const ExportSpec &spec, const SpecEntry &entry,
                                Type type, Location loc, const Twine &what) {
  std::string shape, dtype;
  llvm::raw_string_ostream os(shape), typeOs(dtype);
  Type element = type;
  bool fits = true;
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    element = shaped.getElementType();
    // A dynamic dimension has any size; exporters know results by an example.
    fits = !entry.shape || llvm::equal(shaped.getShape(), *entry.shape,
                                       [](int64_t dim, int64_t said) {
                                         return ShapedType::isDynamic(dim) ||
                                                dim == said;
                                       });
  } else {
    fits = !entry.shape || entry.shape->empty();
  }
  typeOs << element;
  auto complain = [&](const Twine &expected) -> LogicalResult {
    return emitError(loc) << what << " is '" << entry.name << "' by "
                          << spec.path << ", which says " << expected
                          << ", but has type " << type;
  };
  if (!entry.dtype.empty() && entry.dtype != dtype)
    return complain("dtype " + entry.dtype);
  if (!fits) {
    llvm::interleaveComma(*entry.shape, os);
    return complain("shape [" + shape + "]");
  }
  return success();
}
