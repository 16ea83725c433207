//===- GraphFile.cpp - Graphs and budgets as text -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library has no format, so that it needs no library itself.
//===----------------------------------------------------------------------===//

#include "GraphFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace llvm;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

static Expected<remat::plan::Graph> makeGraph(const json::Value &value) {
  remat::plan::Graph graph;
  const json::Object *object = value.getAsObject();
  const json::Array *nodes = object ? object->getArray("nodes") : nullptr;
  const json::Array *edges = object ? object->getArray("edges") : nullptr;
  if (!nodes || !edges)
    return makeError(R"(expected an object with lists "nodes" and "edges")");
  for (auto [index, node] : enumerate(*nodes)) {
    const json::Object *members = node.getAsObject();
    std::optional<int64_t> cost =
        members ? members->getInteger("cost") : std::nullopt;
    std::optional<int64_t> bytes =
        members ? members->getInteger("bytes") : std::nullopt;
    if (!cost || !bytes)
      return makeError("node " + Twine(index) +
                       R"( has no whole numbers "cost" and "bytes")");
    graph.nodes.push_back({*cost, *bytes});
  }
  for (auto [index, edge] : enumerate(*edges)) {
    const json::Array *ends = edge.getAsArray();
    std::optional<int64_t> from, to;
    if (ends && ends->size() == 2) {
      from = (*ends)[0].getAsInteger();
      to = (*ends)[1].getAsInteger();
    }
    constexpr int64_t limit = std::numeric_limits<unsigned>::max();
    if (!from || !to || *from < 0 || *to < 0 || *from > limit || *to > limit)
      return makeError("edge " + Twine(index) +
                       " is no pair of two node numbers");
    graph.edges.push_back({unsigned(*from), unsigned(*to)});
  }
  if (std::optional<std::string> problem = findError(graph))
    return makeError(*problem);
  return graph;
}

Expected<remat::plan::Graph> remat::plan::readGraph(StringRef path) {
  auto buffer = MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return makeError(path + ": " + buffer.getError().message());
  Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  if (!value)
    return makeError(path + ": " + toString(value.takeError()));
  Expected<Graph> graph = makeGraph(*value);
  if (!graph)
    return makeError(path + ": " + toString(graph.takeError()));
  return graph;
}

Expected<int64_t> remat::plan::parseBudget(StringRef text, int64_t peak) {
  StringRef unit = text.trim();
  StringRef number =
      unit.take_while([](char c) { return isDigit(c) || c == '.'; });
  unit = unit.drop_front(number.size()).trim();
  double factor = StringSwitch<double>(unit)
                      .Cases({"", "B"}, 1)
                      .Case("KiB", 1024.0)
                      .Case("MiB", 1024.0 * 1024)
                      .Case("GiB", 1024.0 * 1024 * 1024)
                      .Case("TiB", 1024.0 * 1024 * 1024 * 1024)
                      .Case("kB", 1e3)
                      .Case("MB", 1e6)
                      .Case("GB", 1e9)
                      .Case("TB", 1e12)
                      .Default(0);
  double value = 0;
  if (number.getAsDouble(value) || factor == 0)
    return makeError("budget '" + text +
                     "' is neither a number of bytes such as 4096, 500MiB or "
                     "1.5GB, nor a fraction such as 0.8");
  if (unit.empty() && number.contains('.')) {
    if (value > 1)
      return makeError("budget '" + text +
                       "' is a fraction of the peak of the given order, which "
                       "may be at most 1; bytes have no point, or a unit");
    factor = double(peak);
  }
  // Fractions are written with a few digits: 0.7 is not to miss by a byte.
  double bytes = std::ceil(value * factor - 1e-6);
  if (bytes < 1 || bytes >= 0x1p63)
    return makeError("budget '" + text +
                     "' must be at least one byte and below 2^63 bytes");
  return int64_t(bytes);
}
