//===- RecomputeTest.cpp - Schedules that recompute -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small graphs beside an exhaustive search over all schedules, and what has to
// hold for each archive.
//===----------------------------------------------------------------------===//

#include "remat/Plan/Recompute.h"
#include "remat/Plan/Budget.h"

#include "RandomNumbers.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

using namespace remat::plan;

namespace {

EdgeGraph makeRandomGraph(RandomNumbers &random, unsigned size) {
  EdgeGraph graph;
  for (unsigned i = 0; i < size; ++i) {
    graph.nodes.push_back({random.below(6), 1 + random.below(5)});
    for (unsigned input = 0; input < i; ++input)
      if (random.below(3) == 0)
        graph.edges.push_back({input, i});
  }
  return graph;
}

/// Forward and backward of `layers` layers: the backward of each reads what
/// enters it and the cotangent of what leaves it.
EdgeGraph makeChain(unsigned layers,
                    std::function<EdgeGraph::Node(unsigned)> getLayer) {
  EdgeGraph graph;
  for (unsigned i = 0; i < layers; ++i) {
    graph.nodes.push_back(getLayer(i));
    if (i != 0)
      graph.edges.push_back({i - 1, i});
  }
  for (unsigned i = layers; i-- > 0;) {
    unsigned node = unsigned(graph.nodes.size());
    EdgeGraph::Node layer = getLayer(i);
    graph.nodes.push_back({2 * layer.cost, layer.bytes});
    graph.edges.push_back({i, node});
    if (node != layers)
      graph.edges.push_back({node - 1, node});
  }
  return graph;
}

/// The least cost of any schedule of at most `budget` bytes; -1 if there is
/// none. Dijkstra over (values alive, nodes that have run); a value may be
/// dropped at any time. With `inOrder`, first runs come in the given order.
int64_t findLeastCost(const EdgeGraph &graph, int64_t budget,
                      bool inOrder = false) {
  unsigned size = unsigned(graph.nodes.size());
  std::vector<unsigned> inputs(size, 0), isRead(size, 0);
  for (auto [producer, consumer] : graph.edges) {
    inputs[consumer] |= 1u << producer;
    isRead[producer] = 1;
  }
  unsigned results = 0;
  for (unsigned i = 0; i < size; ++i)
    results |= isRead[i] ? 0 : 1u << i;
  unsigned counted = inOrder ? (1u << size) - 1 : results;
  using Entry = std::pair<int64_t, std::pair<unsigned, unsigned>>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  std::map<std::pair<unsigned, unsigned>, int64_t> best;
  auto reach = [&](int64_t cost, unsigned alive, unsigned done) {
    auto [it, isNew] = best.try_emplace({alive, done}, cost);
    if (!isNew && it->second <= cost)
      return;
    it->second = cost;
    queue.push({cost, {alive, done}});
  };
  reach(0, 0, 0);
  while (!queue.empty()) {
    auto [cost, state] = queue.top();
    queue.pop();
    auto [alive, done] = state;
    if (best[state] < cost)
      continue;
    if ((done & results) == results)
      return cost;
    int64_t live = 0;
    for (unsigned i = 0; i < size; ++i)
      live += alive >> i & 1 ? graph.nodes[i].bytes : 0;
    for (unsigned i = 0; i < size; ++i) {
      if (alive >> i & 1) {
        reach(cost, alive & ~(1u << i), done);
        continue;
      }
      unsigned before = (1u << i) - 1;
      if ((alive & inputs[i]) == inputs[i] &&
          live + graph.nodes[i].bytes <= budget &&
          (!inOrder || (done & before) == before))
        reach(cost + graph.nodes[i].cost, alive | 1u << i,
              done | (1u << i & counted));
    }
  }
  return -1;
}

void expectLeastCosts(const EdgeGraph &edges, const std::string &what) {
  ASSERT_EQ(findError(edges), std::nullopt);
  Graph graph = makeGraph(edges);
  ScheduleFigures base = *evaluate(graph, getGivenOrder(graph));
  RecomputeOptions options;
  options.maxVisits = 2'000'000;
  PlanArchive archive(graph, options);
  for (int64_t budget = base.peak; budget >= 0; --budget) {
    int64_t least = findLeastCost(edges, budget);
    const Plan *plan = archive.find(budget);
    std::string where = what + ", " + std::to_string(budget) + " bytes";
    ASSERT_EQ(plan != nullptr, least >= 0) << where;
    if (!plan) {
      EXPECT_LT(budget, base.peak);
      break;
    }
    EXPECT_EQ(plan->figures.cost, least) << where;
    std::optional<ScheduleFigures> figures = evaluate(graph, plan->schedule);
    ASSERT_TRUE(figures.has_value()) << where;
    EXPECT_EQ(figures->cost, plan->figures.cost) << where;
    EXPECT_EQ(figures->peak, plan->figures.peak) << where;
    EXPECT_LE(figures->peak, budget) << where;
  }
}

TEST(Graph, SaysWhatIsWrong) {
  EdgeGraph graph{{{1, 1}, {1, 1}}, {{0, 1}}};
  EXPECT_EQ(findError(graph), std::nullopt);
  graph.edges = {{1, 0}};
  EXPECT_NE(findError(graph)->find("against the order"), std::string::npos);
  graph.edges = {{0, 0}};
  EXPECT_NE(findError(graph)->find("against the order"), std::string::npos);
  graph.edges = {{0, 2}};
  EXPECT_NE(findError(graph)->find("leaves the 2 nodes"), std::string::npos);
  graph.edges = {{0, 1}, {0, 1}};
  EXPECT_NE(findError(graph)->find("twice"), std::string::npos);
  graph = {{{-1, 1}}, {}};
  EXPECT_NE(findError(graph)->find("negative"), std::string::npos);
  graph = {{{int64_t(1) << 62, 1}}, {}};
  EXPECT_NE(findError(graph)->find("2^51"), std::string::npos);
}

TEST(Graph, ReadersReadTheLatestCopy) {
  Graph graph =
      makeGraph({{{1, 10}, {1, 1}, {1, 1}}, {{0, 1}, {0, 2}, {1, 2}}});
  EXPECT_EQ(evaluate(graph, {0, 1, 2})->peak, 12);
  EXPECT_EQ(evaluate(graph, {0, 1, 0, 2})->peak, 12);
  EXPECT_EQ(evaluate(graph, {0, 1, 0, 2})->cost, 4);
  EXPECT_FALSE(evaluate(graph, {1, 0, 2}));
  EXPECT_FALSE(evaluate(graph, {0, 1}));
  EXPECT_FALSE(evaluate(graph, {0, 1, 3}));
  EXPECT_EQ(evaluate({}, {})->peak, 0);
}

TEST(Graph, LargestWorkingSet) {
  Graph graph =
      makeGraph({{{1, 10}, {1, 1}, {1, 5}}, {{0, 1}, {0, 2}, {1, 2}}});
  unsigned node = 0;
  EXPECT_EQ(getLargestWorkingSet(graph, &node), 16);
  EXPECT_EQ(node, 2u);
}

/// A weight is read by the forward and by the gradient of what is below it, and
/// updated in place.
Graph makeUpdatedStep() {
  Graph graph;
  graph.nodes.resize(4);
  unsigned weight = graph.addValue(kNone, 0);
  unsigned hidden = graph.addValue(0, 8);
  unsigned gradient = graph.addValue(1, 4);
  unsigned updated = graph.addValue(2, 0, weight);
  graph.nodes[0].inputs = {weight};
  graph.nodes[0].cost = 5;
  graph.nodes[1].inputs = {hidden};
  graph.nodes[1].workspace = 3;
  graph.nodes[2].inputs = {weight, gradient};
  graph.nodes[2].runsOnce = true;
  graph.nodes[3].inputs = {updated};
  graph.nodes[3].after = {1};
  return graph;
}

TEST(Graph, InPlaceValuesEndWhatTheyReplace) {
  Graph graph = makeUpdatedStep();
  std::optional<ScheduleFigures> figures = evaluate(graph, {0, 1, 2, 3});
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->peak, 15);
  EXPECT_EQ(figures->cost, 5);
  EXPECT_TRUE(evaluate(graph, {0, 0, 1, 2, 3}));
  // The weight that the forward reads is gone after the update.
  EXPECT_FALSE(evaluate(graph, {0, 1, 2, 0, 3}));
  EXPECT_FALSE(evaluate(graph, {0, 1, 2, 2, 3}));
  // Nodes that something has to come after, or whose effects count.
  EXPECT_FALSE(evaluate(graph, {0, 1, 3}));
  graph.nodes[2].inputs = {0};
  EXPECT_FALSE(evaluate(graph, {2, 3, 0, 1}));
}

TEST(Graph, OutputsTakeOverInputsThatEnd) {
  Graph graph;
  graph.nodes.resize(4);
  unsigned a = graph.addValue(0, 8), b = graph.addValue(1, 8);
  graph.addValue(2, 8);
  graph.addValue(2, 8);
  graph.nodes[2].inputs = {a, b};
  graph.nodes[2].takeOvers = {{a, b}, {a, b}};
  graph.nodes[3].inputs = {2, 3};
  EXPECT_EQ(evaluate(graph, {0, 1, 2, 3})->peak, 16);
  EXPECT_EQ(getLargestWorkingSet(graph), 16);
  // An operand with a later read is not taken over.
  graph.nodes[3].inputs = {a, 2, 3};
  EXPECT_EQ(evaluate(graph, {0, 1, 2, 3})->peak, 24);
}

TEST(Recompute, NothingThatIsGoneIsRecomputed) {
  // Twelve layers whose weights are updated one after the other: each hidden
  // value may be recomputed up to the update of its layer.
  constexpr unsigned layers = 12;
  Graph graph;
  std::vector<unsigned> weights, hidden;
  for (unsigned i = 0; i < layers; ++i) {
    weights.push_back(graph.addValue(kNone, 0));
    Node &node = graph.nodes.emplace_back();
    node.cost = 10;
    node.inputs = {weights[i]};
    if (i != 0)
      node.inputs.push_back(hidden[i - 1]);
    hidden.push_back(graph.addValue(i, 16));
  }
  unsigned cotangent = kNone;
  for (unsigned i = layers; i-- > 0;) {
    Node &gradient = graph.nodes.emplace_back();
    gradient.cost = 20;
    gradient.inputs = {weights[i], hidden[i]};
    if (cotangent != kNone)
      gradient.inputs.push_back(cotangent);
    unsigned index = unsigned(graph.nodes.size()) - 1;
    cotangent = graph.addValue(index, 16);
    unsigned of = graph.addValue(index, 4);
    Node &update = graph.nodes.emplace_back();
    update.inputs = {weights[i], of};
    update.runsOnce = true;
    graph.addValue(index + 1, 0, weights[i]);
  }
  ScheduleFigures base = *evaluate(graph, getGivenOrder(graph));
  RecomputeOptions options;
  options.maxVisits = 5'000'000;
  PlanArchive archive(graph, options);
  const Plan *half = archive.find(base.peak / 2);
  ASSERT_NE(half, nullptr);
  ASSERT_TRUE(evaluate(graph, half->schedule));
  EXPECT_LE(evaluate(graph, half->schedule)->peak, base.peak / 2);
  EXPECT_GT(half->figures.cost, base.cost);
  EXPECT_LE(half->figures.cost, base.cost + 10 * layers);
}

TEST(Budget, ReadsBytesAndFractions) {
  std::string error;
  auto getBytes = [&](const std::string &text) {
    std::optional<Budget> budget = parseBudget(text, error);
    return budget ? budget->getBytes(1000) : -1;
  };
  EXPECT_EQ(getBytes("4096"), 4096);
  EXPECT_EQ(getBytes("1.5KiB"), 1536);
  EXPECT_EQ(getBytes(" 2 GB "), 2'000'000'000);
  EXPECT_EQ(getBytes("0.7"), 700);
  EXPECT_EQ(getBytes("1.0"), 1000);
  for (const char *text : {"", "MiB", "1..5MiB", "5 apples", "-1", "1e3",
                           "0x10", "1,5GB", "nan", "inf", "5MiB x", "\xff"}) {
    EXPECT_EQ(getBytes(text), -1) << text;
    EXPECT_NE(error.find("neither"), std::string::npos) << text;
  }
  for (const char *text : {"0", "0.2B", "9223372036854775808", "8388608TiB"}) {
    EXPECT_EQ(getBytes(text), -1) << text;
    EXPECT_NE(error.find("2^63"), std::string::npos) << text;
  }
  for (const char *text : {"0.0", "1.01"}) {
    EXPECT_EQ(getBytes(text), -1) << text;
    EXPECT_NE(error.find("fraction"), std::string::npos) << text;
  }
}

TEST(Recompute, SmallGraphsCostTheLeast) {
  RandomNumbers random(7);
  for (int round = 0; round < 1000; ++round)
    expectLeastCosts(makeRandomGraph(random, 1 + random.below(8)),
                     "graph " + std::to_string(round));
}

TEST(Recompute, ChainsCostTheLeast) {
  expectLeastCosts(makeChain(5, [](unsigned) { return EdgeGraph::Node{1, 1}; }),
                   "equal layers");
  expectLeastCosts(makeChain(5,
                             [](unsigned i) {
                               return EdgeGraph::Node{1 + i % 3,
                                                      1 + 2 * (i % 2)};
                             }),
                   "layers that differ");
}

TEST(Recompute, LowerBoundsHoldInTheGivenOrder) {
  RandomNumbers random(7);
  int tight = 0;
  for (int round = 0; round < 300; ++round) {
    EdgeGraph edges = makeRandomGraph(random, 2 + random.below(6));
    Graph graph = makeGraph(edges);
    ScheduleFigures base = *evaluate(graph, getGivenOrder(graph));
    for (int64_t budget = base.peak; budget > 0; --budget) {
      std::optional<int64_t> bound = getLowerBoundOfCost(graph, budget);
      int64_t least = findLeastCost(edges, budget, /*inOrder=*/true);
      if (!bound) {
        EXPECT_EQ(least, -1);
        break;
      }
      EXPECT_GE(*bound, base.cost);
      if (least >= 0)
        EXPECT_LE(*bound, least) << round << " " << budget;
      tight += *bound > base.cost;
    }
  }
  EXPECT_GT(tight, 0);
}

TEST(Recompute, ALooserBudgetNeverCostsMore) {
  RandomNumbers random(7);
  RecomputeOptions options;
  options.maxVisits = 2'000'000;
  for (int round = 0; round < 20; ++round) {
    Graph graph = makeGraph(makeRandomGraph(random, 30));
    PlanArchive archive(graph, options);
    int64_t last = std::numeric_limits<int64_t>::max();
    for (int64_t budget = 0;
         budget <= evaluate(graph, getGivenOrder(graph))->peak; ++budget) {
      const Plan *plan = archive.find(budget);
      if (!plan)
        continue;
      EXPECT_LE(plan->figures.cost, last);
      last = plan->figures.cost;
    }
    EXPECT_NE(last, std::numeric_limits<int64_t>::max());
  }
}

/// Both questions, asked of each plan in turn.
TEST(Recompute, TheArchiveHasTheBestPlanForEachBudgetAndEachCost) {
  RandomNumbers random(7);
  RecomputeOptions options;
  options.maxVisits = 2'000'000;
  size_t largest = 0;
  for (int round = 0; round < 20; ++round) {
    PlanArchive archive(makeGraph(makeRandomGraph(random, 30)), options);
    const std::vector<Plan> &plans = archive.getPlans();
    largest = std::max(largest, plans.size());
    auto check = [&](int64_t peak, int64_t cost) {
      const Plan *cheapest = nullptr, *leanest = nullptr;
      for (const Plan &plan : plans) {
        if (plan.figures.peak <= peak &&
            (!cheapest || plan.figures.cost < cheapest->figures.cost))
          cheapest = &plan;
        if (plan.figures.cost <= cost &&
            (!leanest || plan.figures.peak < leanest->figures.peak))
          leanest = &plan;
      }
      EXPECT_EQ(archive.find(peak), cheapest) << round << " " << peak;
      EXPECT_EQ(archive.findWithin(cost), leanest) << round << " " << cost;
    };
    for (const Plan &plan : plans)
      for (int64_t delta : {-1, 0, 1})
        check(plan.figures.peak + delta, plan.figures.cost + delta);
  }
  EXPECT_GT(largest, 3u);
}

TEST(Recompute, IsDeterministic) {
  RandomNumbers random(7);
  Graph graph = makeGraph(makeRandomGraph(random, 40));
  RecomputeOptions options;
  options.maxVisits = 2'000'000;
  PlanArchive first(graph, options), second(graph, options);
  ASSERT_EQ(first.getPlans().size(), second.getPlans().size());
  for (size_t i = 0; i < first.getPlans().size(); ++i)
    EXPECT_EQ(first.getPlans()[i].schedule, second.getPlans()[i].schedule);
}

/// Annealing gets nowhere here: it visits a graph of this size a few times.
TEST(Recompute, LargeGraphsArePlanned) {
  RandomNumbers random(7);
  Graph graph = makeGraph(makeChain(50'000, [&](unsigned) {
    return EdgeGraph::Node{1 + random.below(10), 1 + random.below(8)};
  }));
  ScheduleFigures base = *evaluate(graph, getGivenOrder(graph));
  RecomputeOptions options;
  options.resolution = 0.25;
  options.maxVisits = 1;
  PlanArchive archive(graph, options);
  const Plan *half = archive.find(base.peak / 2);
  ASSERT_NE(half, nullptr);
  EXPECT_LE(evaluate(graph, half->schedule)->peak, base.peak / 2);
  // Half of the forward recomputed is a sixth of the step.
  EXPECT_LE(double(half->figures.cost), 1.2 * double(base.cost));
}

TEST(Recompute, FirstRunsKeepTheirOrder) {
  RandomNumbers random(7);
  RecomputeOptions options;
  options.maxVisits = 2'000'000;
  options.keepsOrder = true;
  size_t recomputed = 0;
  for (int round = 0; round < 20; ++round) {
    Graph graph = makeGraph(makeRandomGraph(random, 30));
    PlanArchive archive(graph, options);
    for (const Plan &plan : archive.getPlans()) {
      unsigned next = 0;
      for (unsigned node : plan.schedule)
        if (node == next)
          ++next;
        else
          EXPECT_LT(node, next);
      recomputed += plan.schedule.size() - graph.nodes.size();
    }
  }
  EXPECT_GT(recomputed, 0u);
}

TEST(Recompute, NothingNeedsNothing) {
  PlanArchive archive({});
  ASSERT_NE(archive.find(0), nullptr);
  EXPECT_TRUE(archive.find(0)->schedule.empty());
}

} // namespace
