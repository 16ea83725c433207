//===- MemoryReport.cpp - What a function's memory is made of -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One list of figures, printed for people and for benchmark scripts.
//===----------------------------------------------------------------------===//

#include "MemoryReport.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::remat;

SmallVector<const LiveBuffer *>
remat::getAtPeak(const FunctionMemory &function) {
  SmallVector<const LiveBuffer *> result;
  for (const LiveBuffer &buffer : function.live)
    if (buffer.first <= function.peakPosition &&
        function.peakPosition <= buffer.last)
      result.push_back(&buffer);
  llvm::stable_sort(result, [](const LiveBuffer *a, const LiveBuffer *b) {
    return a->bytes > b->bytes;
  });
  return result;
}

/// The largest of what is alive at the peak: of many layers, enough to see what
/// takes the bytes.
static void printAtPeak(const FunctionMemory &function, raw_ostream &os) {
  constexpr size_t kMost = 12;
  SmallVector<const LiveBuffer *> atPeak = getAtPeak(function);
  ArrayRef<const LiveBuffer *> buffers = atPeak;
  if (buffers.empty())
    return;
  os << "  at the peak:\n";
  for (const LiveBuffer *buffer : buffers.take_front(kMost)) {
    os << llvm::format("    %13lld  %-10s",
                       static_cast<long long>(buffer->bytes),
                       buffer->part.str().c_str());
    for (StringRef text : {buffer->type, buffer->op, buffer->line})
      if (!text.empty())
        os << "  " << text;
    os << "\n";
  }
  if (buffers.size() <= kMost)
    return;
  int64_t rest = 0;
  for (const LiveBuffer *buffer : buffers.drop_front(kMost))
    rest += buffer->bytes;
  os << llvm::format("    %13lld  in %zu others\n",
                     static_cast<long long>(rest), buffers.size() - kMost);
}

void remat::printMemoryTable(ArrayRef<FunctionMemory> functions,
                             raw_ostream &os) {
  for (const FunctionMemory &function : functions) {
    os << "memory of @" << function.name << " (bytes)\n";
    auto line = [&](StringRef label, int64_t value) {
      os << llvm::format("  %-22s %15lld\n", label.str().c_str(),
                         static_cast<long long>(value));
    };
    line("arena (exact peak)", function.arena);
    line("  live at the peak", function.maxLive);
    line("    residuals", function.parts.residuals);
    line("    gradients", function.parts.gradients);
    line("    recomputed", function.parts.recomputed);
    line("    workspaces", function.parts.workspaces);
    line("    temporaries", function.parts.temporaries);
    line("residuals at most", function.residuals);
    line("parameters", function.parameters);
    line("optimizer state", function.optimizerState);
    line("model state", function.modelState);
    line("data", function.data);
    line("results", function.results);
    line("constants", function.constants);
    line("copied per call", function.copiedBytes);
    os << llvm::format(
        "  %lld buffers, %lld took over a dying operand, %lld left to the "
        "allocator; %lld recomputed operations\n",
        static_cast<long long>(function.buffers),
        static_cast<long long>(function.takenOver),
        static_cast<long long>(function.unpacked),
        static_cast<long long>(function.recomputedOps));
    printAtPeak(function, os);
  }
}

/// When the arena holds what. Models have thousands of buffers and few kinds of
/// them: a buffer is one short line that names its kind by number.
static void printTimeline(const FunctionMemory &function,
                          llvm::json::OStream &json) {
  llvm::MapVector<std::tuple<StringRef, StringRef, StringRef, StringRef>,
                  size_t>
      kinds;
  auto getKind = [&](const LiveBuffer &buffer) {
    return kinds
        .try_emplace({buffer.part, buffer.type, buffer.op, buffer.line},
                     kinds.size())
        .first->second;
  };
  json.attribute("positions", function.positions);
  json.attribute("backward", function.backwardPosition);
  json.attribute("peak", function.peakPosition);
  json.attributeArray("live", [&] {
    for (const LiveBuffer &buffer : function.live)
      json.rawValue(llvm::formatv("[{0}, {1}, {2}, {3}]", buffer.first,
                                  buffer.last, buffer.bytes, getKind(buffer))
                        .str());
  });
  json.attributeArray("kinds", [&] {
    for (const auto &[part, type, op, line] : llvm::make_first_range(kinds))
      json.rawValue(llvm::formatv("{0}", llvm::json::Value(llvm::json::Array{
                                             part, type, op, line}))
                        .str());
  });
}

void remat::printMemoryJSON(ArrayRef<FunctionMemory> functions,
                            raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attributeArray("functions", [&] {
      for (const FunctionMemory &function : functions)
        json.object([&] {
          json.attribute("name", function.name);
          json.attribute("arena", function.arena);
          json.attribute("max_live", function.maxLive);
          json.attributeObject("peak", [&] {
            json.attribute("residuals", function.parts.residuals);
            json.attribute("gradients", function.parts.gradients);
            json.attribute("recomputed", function.parts.recomputed);
            json.attribute("workspaces", function.parts.workspaces);
            json.attribute("temporaries", function.parts.temporaries);
          });
          json.attributeArray("at_peak", [&] {
            for (const LiveBuffer *buffer : getAtPeak(function))
              json.object([&] {
                json.attribute("bytes", buffer->bytes);
                json.attribute("part", buffer->part);
                json.attribute("type", buffer->type);
                json.attribute("op", buffer->op);
                json.attribute("line", buffer->line);
              });
          });
          json.attributeObject("timeline",
                               [&] { printTimeline(function, json); });
          json.attribute("residuals", function.residuals);
          json.attributeObject("arguments", [&] {
            json.attribute("parameters", function.parameters);
            json.attribute("optimizer_state", function.optimizerState);
            json.attribute("model_state", function.modelState);
            json.attribute("data", function.data);
            json.attribute("results", function.results);
          });
          json.attribute("constants", function.constants);
          json.attribute("buffers", function.buffers);
          json.attribute("taken_over", function.takenOver);
          json.attribute("unpacked", function.unpacked);
          json.attribute("copied_bytes", function.copiedBytes);
          json.attribute("recomputed_ops", function.recomputedOps);
        });
    });
  });
  os << "\n";
}
