//===- remat-plan.cpp - The planner on a file -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lib/Plan does, without IR: for benchmarks, for other compilers, and to
// look at one graph by itself.
//===----------------------------------------------------------------------===//

#include "GraphFile.h"
#include "PackingFile.h"

#include "remat/Plan/Budget.h"
#include "remat/Plan/Recompute.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

#include <chrono>

using namespace llvm;
using namespace remat::plan;

static cl::OptionCategory category("Options of remat-plan");
static cl::opt<std::string> input(cl::Positional, cl::init("-"),
                                  cl::desc("<graph.json>"), cl::cat(category));
static cl::opt<std::string>
    budget("budget", cl::cat(category), cl::value_desc("bytes or fraction"),
           cl::desc("Print the cheapest schedule of at most so many bytes "
                    "(500MiB), or of a fraction of the given order's peak "
                    "(0.8)"));
static cl::opt<bool>
    sweep("sweep", cl::cat(category),
          cl::desc("Print the figures of all schedules that are worth having"));
static cl::opt<uint64_t>
    visits("visits", cl::cat(category), cl::init(30'000'000'000),
           cl::desc("How many nodes and edges the search may visit"));
static cl::opt<double>
    resolution("resolution", cl::cat(category), cl::init(0.005),
               cl::desc("Distance of two budgets that are searched, as a "
                        "fraction of the given order's peak"));
static cl::opt<std::string>
    packing("pack", cl::cat(category), cl::value_desc("buffers.csv"),
            cl::desc("Give each buffer of a file an offset in one arena"));
static cl::opt<int64_t>
    capacity("capacity", cl::cat(category), cl::value_desc("bytes"),
             cl::desc("Height that is low enough for --pack"));
static cl::opt<uint64_t>
    nodes("nodes", cl::cat(category), cl::init(1'000'000),
          cl::desc("How many nodes the exhaustive search of --pack may visit"));
static cl::opt<std::string> output("o", cl::cat(category), cl::init("-"),
                                   cl::value_desc("file"),
                                   cl::desc("Where to print"));

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

/// Writes all of the output or none of it.
static Error write(function_ref<void(raw_ostream &)> print) {
  std::error_code error;
  ToolOutputFile file(output, error, sys::fs::OF_Text);
  if (error)
    return makeError(output + ": " + error.message());
  print(file.os());
  file.os().flush();
  if (file.os().has_error()) {
    std::string message = file.os().error().message();
    file.os().clear_error();
    return makeError(output + ": " + message);
  }
  file.keep();
  return Error::success();
}

static Error pack() {
  Expected<PackingFile> file = readPackingFile(packing);
  if (!file)
    return file.takeError();
  PackingOptions options;
  options.capacity = capacity;
  options.maxNodes = int64_t(nodes);
  Packing result = remat::plan::pack(file->intervals, options);
  if (Error error =
          write([&](raw_ostream &os) { printOffsets(os, *file, result); }))
    return error;
  errs() << "height " << result.height << " bytes, no packing is below "
         << result.lowerBound << '\n';
  if (capacity > 0 && result.height > capacity)
    return makeError("no packing into " + Twine(capacity) + " bytes was " +
                     (result.lowerBound > capacity ? "possible" : "found"));
  return Error::success();
}

static Error plan() {
  Expected<Graph> graph = readGraph(input);
  if (!graph)
    return graph.takeError();
  if (!(resolution > 0 && resolution <= 1))
    return makeError("--resolution must be above 0 and at most 1");
  ScheduleFigures given = *evaluate(*graph, getGivenOrder(*graph));
  int64_t limit = given.peak;
  RecomputeOptions options;
  options.maxVisits = int64_t(visits);
  options.resolution = resolution;
  if (!budget.empty()) {
    std::string error;
    std::optional<Budget> parsed = parseBudget(budget, error);
    if (!parsed)
      return makeError(error);
    limit = parsed->getBytes(given.peak);
    unsigned node = 0;
    int64_t least = getLargestWorkingSet(*graph, &node);
    if (limit < least)
      return makeError("a budget of " + Twine(limit) +
                       " bytes is impossible in any order: node " +
                       Twine(node) + " and what it reads have " + Twine(least));
  }
  auto start = std::chrono::steady_clock::now();
  PlanArchive archive(*graph, options);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  const Plan *best = archive.find(limit);
  if (!best)
    return makeError("no schedule of at most " + Twine(limit) +
                     " bytes was found; the leanest has " +
                     Twine(archive.getPlans().back().figures.peak));
  return write([&](raw_ostream &os) {
    json::OStream json(os, 1);
    auto printFigures = [&](const Plan &plan) {
      json.attribute("peak_bytes", plan.figures.peak);
      json.attribute("cost", plan.figures.cost);
    };
    json.object([&] {
      if (sweep) {
        json.attributeArray("plans", [&] {
          for (const Plan &plan : archive.getPlans())
            json.object([&] { printFigures(plan); });
        });
      } else {
        json.attributeBegin("schedule");
        json.rawValue([&](raw_ostream &os) {
          os << '[';
          interleaveComma(best->schedule, os);
          os << ']';
        });
        json.attributeEnd();
        printFigures(*best);
        json.attributeObject("lower_bound", [&] {
          json.attribute("cost", *getLowerBoundOfCost(*graph, limit));
          json.attribute("of", "schedules whose first runs are in the given "
                               "order");
        });
      }
      json.attribute("seconds", seconds.count());
    });
    os << '\n';
  });
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Which values of a step to recompute, and when, so that it fits\n\n"
      "remat-plan graph.json --budget=0.8\n"
      "remat-plan --pack=buffers.csv --capacity=1048576 -o offsets.csv\n");
  if (Error error = packing.empty() ? plan() : pack()) {
    WithColor::error(errs(), "remat-plan")
        << toString(std::move(error)) << '\n';
    return 1;
  }
  return 0;
}
