//===- SelectionTest.cpp - Which values a region saves --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small graphs beside an exhaustive search over all selections.
//===----------------------------------------------------------------------===//

#include "remat/Plan/Selection.h"

#include "RandomNumbers.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>

using namespace remat::plan;

namespace {

/// One value that exists, and `size` nodes with one value each.
SelectionProblem makeRandom(RandomNumbers &random, unsigned size) {
  SelectionProblem problem;
  problem.graph.addValue(kNone, 0);
  problem.maySave.push_back(false);
  for (unsigned i = 0; i < size; ++i) {
    Node node;
    node.cost = random.below(6);
    for (unsigned value = 0; value <= i; ++value)
      if (random.below(3) == 0)
        node.inputs.push_back(value);
    problem.graph.nodes.push_back(node);
    problem.graph.addValue(i, 1 + random.below(5));
    problem.maySave.push_back(random.below(8) != 0);
    if (random.below(2))
      problem.needed.push_back(i + 1);
  }
  return problem;
}

struct Figures {
  int64_t bytes = 0, cost = 0;
  bool runsExpensive = false, savesForbidden = false;
};

/// Saves the values of `subset`, as far as the backward reads them.
Figures evaluate(const SelectionProblem &problem, unsigned subset,
                 const std::vector<bool> &isExpensive) {
  const Graph &graph = problem.graph;
  std::vector<bool> isRead(graph.values.size());
  for (unsigned value : problem.needed)
    isRead[value] = true;
  Figures figures;
  for (auto node = unsigned(graph.nodes.size()); node-- > 0;) {
    unsigned value = node + 1;
    if (!isRead[value])
      continue;
    if (subset >> node & 1) {
      figures.bytes += graph.values[value].bytes;
      figures.savesForbidden |= !problem.maySave[value] && !isExpensive[node];
      continue;
    }
    figures.cost += graph.nodes[node].cost;
    figures.runsExpensive |= isExpensive[node];
    for (unsigned input : graph.nodes[node].inputs)
      isRead[input] = true;
  }
  return figures;
}

TEST(SelectionTest, SmallOnesAreTheBest) {
  RandomNumbers random(11);
  for (unsigned i = 0; i < 300; ++i) {
    SelectionProblem problem = makeRandom(random, 1 + unsigned(i % 9));
    auto size = unsigned(problem.graph.nodes.size());
    std::vector<bool> cheap(size);
    int64_t budget = random.below(12), best = -1;
    for (unsigned subset = 0; subset < 1u << size; ++subset) {
      Figures figures = evaluate(problem, subset, cheap);
      if (!figures.savesForbidden && figures.bytes <= budget)
        best = best < 0 ? figures.cost : std::min(best, figures.cost);
    }
    Selection found = selectWithin(problem, budget);
    EXPECT_LE(found.bytes, budget);
    EXPECT_EQ(found.cost, best);
  }
}

TEST(SelectionTest, FewestBytesAreAMinimumCut) {
  RandomNumbers random(11);
  for (unsigned i = 0; i < 300; ++i) {
    SelectionProblem problem = makeRandom(random, 1 + unsigned(i % 9));
    auto size = unsigned(problem.graph.nodes.size());
    std::vector<bool> isExpensive;
    for (unsigned node = 0; node < size; ++node)
      isExpensive.push_back(random.below(3) == 0);
    std::pair<int64_t, int64_t> best{INT64_MAX, 0};
    for (unsigned subset = 0; subset < 1u << size; ++subset) {
      Figures figures = evaluate(problem, subset, isExpensive);
      if (!figures.savesForbidden && !figures.runsExpensive)
        best = std::min(best, {figures.bytes, figures.cost});
    }
    Selection found = selectFewestBytes(problem, isExpensive);
    EXPECT_EQ(found.bytes, best.first);
    EXPECT_EQ(found.cost, best.second);
  }
}

/// Values of these bytes, each made of the one before it at the cost of as
/// many units, which the backward all reads.
SelectionProblem makeLayers(const std::vector<int64_t> &bytes) {
  SelectionProblem problem;
  problem.graph.addValue(kNone, 0);
  problem.maySave.push_back(false);
  for (unsigned i = 0; i < bytes.size(); ++i) {
    Node node;
    node.cost = bytes[i];
    node.inputs = {i};
    problem.graph.nodes.push_back(node);
    problem.graph.addValue(i, bytes[i]);
    problem.maySave.push_back(true);
    problem.needed.push_back(i + 1);
  }
  return problem;
}

TEST(SelectionTest, BudgetsAreUsedUp) {
  SelectionProblem products = makeLayers({8, 8, 8, 8, 8});
  for (int64_t tenths = 0; tenths <= 10; ++tenths)
    EXPECT_EQ(selectWithin(products, tenths * 40 / 10).saved.size(),
              size_t(tenths / 2));
  SelectionProblem layers = makeLayers({11, 3, 4, 2});
  for (int64_t budget = 0; budget <= 20; ++budget) {
    int64_t best = 0;
    for (unsigned subset = 0; subset < 16; ++subset) {
      int64_t sum = (subset & 1 ? 11 : 0) + (subset & 2 ? 3 : 0) +
                    (subset & 4 ? 4 : 0) + (subset & 8 ? 2 : 0);
      if (sum <= budget)
        best = std::max(best, sum);
    }
    EXPECT_EQ(selectWithin(layers, budget).bytes, best);
  }
}

TEST(SelectionTest, LargeOnesFitAndLeaveLittle) {
  RandomNumbers random(11);
  std::vector<int64_t> bytes;
  for (unsigned i = 0; i < 60; ++i)
    bytes.push_back(1 + random.below(100));
  SelectionProblem layers = makeLayers(bytes);
  int64_t all = std::accumulate(bytes.begin(), bytes.end(), int64_t(0));
  int64_t last = all;
  for (int64_t budget = 0; budget <= all; budget += all / 7) {
    Selection found = selectWithin(layers, budget);
    EXPECT_LE(found.bytes, budget);
    EXPECT_GE(found.bytes, budget - 3);
    EXPECT_EQ(found.cost, all - found.bytes);
    EXPECT_LE(found.cost, last);
    last = found.cost;
  }
}

TEST(SelectionTest, DeepChainsTakeNoStack) {
  SelectionProblem layers = makeLayers(std::vector<int64_t>(20'000, 1));
  layers.needed = {20'000};
  EXPECT_EQ(selectFewestBytes(layers, std::vector<bool>(20'000)).bytes, 0);
  std::vector<bool> isExpensive(20'000);
  isExpensive[5] = true;
  layers.graph.values[9].bytes = 0;
  EXPECT_EQ(selectFewestBytes(layers, isExpensive).saved,
            std::vector<unsigned>{9});
}

TEST(SelectionTest, NothingIsNeeded) {
  EXPECT_EQ(selectWithin({}, 10).bytes, 0);
  EXPECT_EQ(selectFewestBytes({}, {}).bytes, 0);
}

} // namespace
