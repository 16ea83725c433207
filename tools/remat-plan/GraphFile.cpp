//===- GraphFile.cpp - Graphs as text -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library has no format, so that it needs no library itself.
//===----------------------------------------------------------------------===//

#include "GraphFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

static Expected<remat::plan::Graph> readNodes(const json::Value &value) {
  remat::plan::EdgeGraph graph;
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
  return remat::plan::makeGraph(graph);
}

Expected<remat::plan::Graph> remat::plan::readGraph(StringRef path) {
  auto buffer = MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return makeError(path + ": " + buffer.getError().message());
  Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  if (!value)
    return makeError(path + ": " + toString(value.takeError()));
  Expected<Graph> graph = readNodes(*value);
  if (!graph)
    return makeError(path + ": " + toString(graph.takeError()));
  return graph;
}
