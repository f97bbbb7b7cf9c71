#include "doppler/schedule/critical_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "doppler/base/rng.h"
#include "support/graphs.h"

namespace doppler::schedule {
namespace {

using cost::LinkMode;
using Kind = ChainStep::Kind;
using Reason = ChainStep::Reason;

constexpr DeviceId kFirstDevice(0), kSecondDevice(1);

// The steps in short: what, why, when. "a/data 0-1", "a>d1/queue 1-4", "idle 4-5".
std::vector<std::string> words(const cost::Problem& problem, const Timeline& timeline,
                               const CriticalChain& chain) {
  const auto number = [](double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
  };
  std::vector<std::string> result;
  for (const ChainStep& step : chain.steps) {
    std::string text;
    if (step.kind == Kind::kCompute) text = problem.graph().node_name(step.node);
    if (step.kind == Kind::kTransfer) {
      const TransferRun& run = timeline.transfers[step.transfer];
      text = std::string(problem.graph().tensor_name(run.tensor)) + ">" +
             problem.topology().device(run.to).name;
    }
    const char* reasons[] = {"/data", "/queue", "/barrier", "idle"};
    result.push_back(text + reasons[static_cast<int>(step.reason)] + " " + number(step.begin) +
                     "-" + number(step.end));
  }
  return result;
}

// Every chain covers [0, makespan] without gaps, and its parts add up to it.
void expect_cover(const Timeline& timeline, const CriticalChain& chain) {
  ASSERT_FALSE(chain.steps.empty());
  EXPECT_EQ(chain.steps.front().begin, 0.0);
  EXPECT_EQ(chain.steps.back().end, timeline.makespan);
  for (std::size_t i = 1; i < chain.steps.size(); ++i) {
    EXPECT_EQ(chain.steps[i].begin, chain.steps[i - 1].end) << "step " << i;
    EXPECT_LE(chain.steps[i].begin, chain.steps[i].end) << "step " << i;
  }
  EXPECT_NEAR(chain.compute + chain.transfer + chain.waiting(), timeline.makespan,
              1e-9 * (1.0 + timeline.makespan));
}

TEST(CriticalChain, DataAllTheWay) {
  for (const LinkMode links : {LinkMode::kFree, LinkMode::kChannel}) {
    const auto problem =
        test::uniform_problem(test::simple_graph({{"a", 1}, {"b", 1}}, {{"a", "b"}}, 3), 2, links);
    const NodeId consumer = links == LinkMode::kFree ? NodeId(1) : NodeId();
    const Timeline timeline{
        .makespan = 5,
        .device = {kFirstDevice, kSecondDevice},
        .priority = {5, 1},
        .nodes = {{0, 1}, {4, 5}},
        .transfers = {{TensorId(0), consumer, kFirstDevice, kSecondDevice, 1, 4}}};
    const CriticalChain chain = critical_chain(*problem, timeline);
    EXPECT_EQ(words(*problem, timeline, chain),
              (std::vector<std::string>{"a/data 0-1", "a>d1/data 1-4", "b/data 4-5"}));
    EXPECT_EQ(chain.compute, 2.0);
    EXPECT_EQ(chain.transfer, 3.0);
    EXPECT_EQ(chain.waiting(), 0.0);
  }
}

// Case 4 of docs/semantics.md: a1, a2 on d0 feed b1, b2 on d1, transfers 3.
graph::Graph two_pairs() {
  return test::simple_graph({{"a1", 1}, {"a2", 1}, {"b1", 1}, {"b2", 1}},
                            {{"a1", "b1"}, {"a2", "b2"}}, 3);
}

TEST(CriticalChain, ATransferThatWaitedForItsChannel) {
  const auto problem = test::uniform_problem(two_pairs(), 2, LinkMode::kChannel);
  const Timeline timeline{
      .makespan = 8,
      .device = {kFirstDevice, kFirstDevice, kSecondDevice, kSecondDevice},
      .priority = {4, 3, 2, 1},
      .nodes = {{0, 1}, {1, 2}, {4, 5}, {7, 8}},
      .transfers = {{TensorId(0), NodeId(), kFirstDevice, kSecondDevice, 1, 4},
                    {TensorId(1), NodeId(), kFirstDevice, kSecondDevice, 4, 7}}};
  const CriticalChain chain = critical_chain(*problem, timeline);
  EXPECT_EQ(words(*problem, timeline, chain),
            (std::vector<std::string>{"a1/data 0-1", "a1>d1/queue 1-4", "a2>d1/data 4-7",
                                      "b2/data 7-8"}));
  EXPECT_EQ(chain.compute, 2.0);
  EXPECT_EQ(chain.transfer, 3.0);
  EXPECT_EQ(chain.channel_queue, 3.0);
  EXPECT_EQ(chain.device_queue, 0.0);
}

TEST(CriticalChain, DataComesBeforeTheDeviceWhereBothEndTogether) {
  // Free links: b2's data arrives at 5, when b1 also ends; a2 waited for a1.
  const auto problem = test::uniform_problem(two_pairs(), 2, LinkMode::kFree);
  const Timeline timeline{
      .makespan = 6,
      .device = {kFirstDevice, kFirstDevice, kSecondDevice, kSecondDevice},
      .priority = {4, 3, 2, 1},
      .nodes = {{0, 1}, {1, 2}, {4, 5}, {5, 6}},
      .transfers = {{TensorId(0), NodeId(2), kFirstDevice, kSecondDevice, 1, 4},
                    {TensorId(1), NodeId(3), kFirstDevice, kSecondDevice, 2, 5}}};
  const CriticalChain chain = critical_chain(*problem, timeline);
  EXPECT_EQ(
      words(*problem, timeline, chain),
      (std::vector<std::string>{"a1/queue 0-1", "a2/data 1-2", "a2>d1/data 2-5", "b2/data 5-6"}));
  EXPECT_EQ(chain.device_queue, 1.0);
}

TEST(CriticalChain, SynchronousRunsWaitAtBarriers) {
  // Case 5: a(1) and then c(1) on d0, b(4) on d1; c's level begins when b has ended.
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1}, {"b", 4}, {"c", 1}}, {{"a", "c"}}, 1), 2, LinkMode::kChannel);
  Timeline timeline{.mode = Mode::kSynchronous,
                    .makespan = 5,
                    .device = {kFirstDevice, kSecondDevice, kFirstDevice},
                    .priority = {2, 4, 1},
                    .nodes = {{0, 1}, {0, 4}, {4, 5}},
                    .transfers = {}};
  CriticalChain chain = critical_chain(*problem, timeline);
  EXPECT_EQ(words(*problem, timeline, chain),
            (std::vector<std::string>{"b/barrier 0-4", "c/data 4-5"}));
  EXPECT_EQ(chain.device_queue, 4.0);
  EXPECT_EQ(chain.compute, 1.0);

  // The same with barriers that cost 0.5: one before each level's nodes and one after.
  timeline.makespan = 6.5;
  timeline.nodes = {{0.5, 1.5}, {0.5, 4.5}, {5.5, 6.5}};
  chain = critical_chain(*problem, timeline);
  EXPECT_EQ(words(*problem, timeline, chain),
            (std::vector<std::string>{"idle 0-0.5", "b/barrier 0.5-4.5", "idle 4.5-5.5",
                                      "c/data 5.5-6.5"}));
  EXPECT_EQ(chain.idle, 1.5);
  expect_cover(timeline, chain);
}

TEST(CriticalChain, StepsOfNoDuration) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 0}, {"b", 0}, {"c", 1}}, {{"a", "b"}, {"b", "c"}}, 0), 1,
      LinkMode::kChannel);
  const Timeline timeline{.makespan = 1,
                          .device = {kFirstDevice, kFirstDevice, kFirstDevice},
                          .priority = {1, 1, 1},
                          .nodes = {{0, 0}, {0, 0}, {0, 1}},
                          .transfers = {}};
  const CriticalChain chain = critical_chain(*problem, timeline);
  EXPECT_EQ(words(*problem, timeline, chain),
            (std::vector<std::string>{"a/data 0-0", "b/data 0-0", "c/data 0-1"}));
}

TEST(CriticalChain, AnInputThatComesFromItsHome) {
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 1});
  const TensorId x = builder.add_tensor(
      {.name = "x", .role = graph::TensorRole::kInput, .transfer_time = 3, .home = "d0"});
  builder.connect(x, a);
  const auto problem = test::uniform_problem(std::move(builder).build(), 2, LinkMode::kChannel);
  const Timeline timeline{.makespan = 4,
                          .device = {kSecondDevice},
                          .priority = {1},
                          .nodes = {{3, 4}},
                          .transfers = {{x, NodeId(), kFirstDevice, kSecondDevice, 0, 3}}};
  EXPECT_EQ(words(*problem, timeline, critical_chain(*problem, timeline)),
            (std::vector<std::string>{"x>d1/data 0-3", "a/data 3-4"}));
}

TEST(CriticalChain, AnUpdateThatIsDeliveredAfterTheLastNode) {
  // u on d0 updates w, which r on d1 reads: its new value goes to d1, after everything else.
  graph::GraphBuilder builder;
  const NodeId u = builder.add_node({.name = "u", .time = 2});
  const NodeId r = builder.add_node({.name = "r", .time = 1});
  const TensorId w = builder.add_tensor({.name = "w", .role = graph::TensorRole::kParameter});
  builder.connect(w, r);
  const TensorId next =
      builder.add_tensor({.name = "w2", .producer = u, .transfer_time = 3, .updates = w});
  const auto problem = test::uniform_problem(std::move(builder).build(), 2, LinkMode::kChannel);
  const Timeline timeline{.makespan = 5,
                          .device = {kFirstDevice, kSecondDevice},
                          .priority = {2, 1},
                          .nodes = {{0, 2}, {0, 1}},
                          .transfers = {{next, NodeId(), kFirstDevice, kSecondDevice, 2, 5}}};
  EXPECT_EQ(words(*problem, timeline, critical_chain(*problem, timeline)),
            (std::vector<std::string>{"u/data 0-2", "w2>d1/data 2-5"}));
}

// A run of a random placement, node by node in topological order, with durations and pauses that no
// cost table knows: what a measured run may look like.
Timeline random_run(const cost::Problem& problem, bool pauses, std::uint64_t seed) {
  Rng rng = Rng::stream(seed, 5);
  const graph::Graph& graph = problem.graph();
  const bool channels = problem.links() == LinkMode::kChannel;
  Timeline timeline;
  const std::size_t nodes = problem.node_count();
  for (std::size_t v = 0; v < nodes; ++v) {
    timeline.device.push_back(
        DeviceId(rng.below(static_cast<std::uint32_t>(problem.device_count()))));
  }
  timeline.priority.assign(nodes, 0.0);
  timeline.nodes.resize(nodes);
  std::vector<double> device_free(problem.device_count(), 0.0);
  std::map<ChannelId, double> channel_free;
  std::map<std::pair<TensorId, DeviceId>, double> arrived;
  const auto pause = [&] { return pauses && rng.chance(0.3) ? rng.uniform(0.0, 1.0) : 0.0; };
  for (const NodeId node : graph.topological_order()) {
    const DeviceId here = timeline.device[node.index()];
    double start = device_free[here.index()];
    for (const std::uint32_t e : problem.awaited_edges(node)) {
      const cost::Problem::Edge& edge = problem.edges()[e];
      const NodeId producer = graph.producer(edge.tensor);
      const DeviceId there = timeline.device[producer.index()];
      const double produced = timeline.nodes[producer.index()].end;
      if (there == here) {
        start = std::max(start, produced);
        continue;
      }
      const auto [entry, first] = arrived.try_emplace({edge.tensor, here}, 0.0);
      if (!channels || first) {
        double begin = produced;
        if (channels) {
          for (const ChannelId c : problem.route(there, here))
            begin = std::max(begin, channel_free[c]);
          begin += pause();
        }
        const double end = begin + problem.transfer_time(edge, there, here) * rng.uniform(0.5, 1.5);
        timeline.transfers.push_back(
            {edge.tensor, channels ? NodeId() : node, there, here, begin, end});
        if (channels) {
          for (const ChannelId c : problem.route(there, here)) channel_free[c] = end;
        }
        entry->second = end;
      }
      start = std::max(start, entry->second);
    }
    start += pause();
    const double end = start + problem.compute_time(node, here) * rng.uniform(0.5, 1.5);
    timeline.nodes[node.index()] = {start, end};
    device_free[here.index()] = end;
    timeline.makespan = std::max(timeline.makespan, end);
  }
  std::stable_sort(timeline.transfers.begin(), timeline.transfers.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  return timeline;
}

TEST(CriticalChain, CoversEveryRunWithoutGaps) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool pauses = seed % 4 == 3, zero_costs = seed % 3 == 0;
    const auto problem = test::uniform_problem(
        test::random_graph({.nodes = 5 + seed % 40, .zero_costs = zero_costs}, seed), 1 + seed % 4,
        seed % 2 == 0 ? LinkMode::kFree : LinkMode::kChannel);
    Timeline timeline = random_run(*problem, pauses, seed);
    for (const Mode mode : {Mode::kWorkConserving, Mode::kSynchronous}) {
      timeline.mode = mode;
      const CriticalChain chain = critical_chain(*problem, timeline);
      expect_cover(timeline, chain);
      // random_run lets nodes wait for one that takes no time, as no work-conserving run does.
      EXPECT_TRUE(pauses || zero_costs || chain.idle <= 1e-12) << chain.idle;
    }
  }
}

}  // namespace
}  // namespace doppler::schedule
