// Timelines made by hand that obey every rule are accepted; with one rule broken they are not. The
// same with runs of the simulator that are damaged in one place.
#include "doppler/schedule/checker.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "doppler/base/rng.h"
#include "support/checked_run.h"
#include "support/graphs.h"
#include "support/random_problems.h"

namespace doppler::schedule {
namespace {

using cost::LinkMode;
using test::place;
using test::simple_graph;
using test::uniform_problem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// a1, a2 on d0 feed b1, b2 on d1; all take 1, transfers 3. One channel: 1-4 and 4-7.
struct TwoTransfers {
  std::shared_ptr<const cost::Problem> problem = uniform_problem(
      simple_graph({{"a1", 1}, {"a2", 1}, {"b1", 1}, {"b2", 1}}, {{"a1", "b1"}, {"a2", "b2"}}, 3),
      2, LinkMode::kChannel);
  Timeline timeline{
      .makespan = 8,
      .device = {DeviceId(0), DeviceId(0), DeviceId(1), DeviceId(1)},
      .priority = {4, 3, 2, 1},
      .nodes = {{0, 1}, {1, 2}, {4, 5}, {7, 8}},
      .transfers = {{TensorId(0), NodeId(), DeviceId(0), DeviceId(1), 1, 4},
                    {TensorId(1), NodeId(), DeviceId(0), DeviceId(1), 4, 7}},
  };
  std::vector<std::string> check(const CheckOptions& options = {}) const {
    return check_timeline(*problem, timeline, options);
  }
};

TEST(Checker, AcceptsAValidTimeline) {
  EXPECT_THAT(TwoTransfers().check(), IsEmpty());
}

TEST(Checker, RejectsWrongSizesAndNumbers) {
  TwoTransfers run;
  run.timeline.nodes.pop_back();
  EXPECT_THAT(run.check(), Contains(HasSubstr("3 nodes")));
  run = {};
  run.timeline.nodes[0].start = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(run.check(), Not(IsEmpty()));
  run = {};
  run.timeline.nodes[0] = {-1, 0};
  EXPECT_THAT(run.check(), Not(IsEmpty()));
  run = {};
  run.timeline.device[0] = DeviceId(7);
  EXPECT_THAT(run.check(), Contains(HasSubstr("does not exist")));
}

TEST(Checker, RejectsANodeBeforeItsInput) {
  TwoTransfers run;
  run.timeline.nodes[2] = {3.5, 4.5};
  EXPECT_THAT(run.check(), Contains(HasSubstr("before an input arrived at 4")));
}

TEST(Checker, RejectsATransferBeforeItsTensorIsComplete) {
  TwoTransfers run;
  run.timeline.transfers[0].start = 0.5;
  run.timeline.transfers[0].end = 3.5;
  EXPECT_THAT(run.check(), Contains(HasSubstr("before the tensor was complete at 1")));
}

TEST(Checker, RejectsTwoNodesAtOnceOnADevice) {
  TwoTransfers run;
  run.timeline.nodes[1] = {0.5, 1.5};
  EXPECT_THAT(run.check(), Contains(HasSubstr("'a1' ran until 1")));
}

TEST(Checker, RejectsTwoTransfersAtOnceOnAChannel) {
  TwoTransfers run;
  run.timeline.transfers[1].start = 2;
  run.timeline.transfers[1].end = 5;
  run.timeline.nodes[3] = {5, 6};
  run.timeline.makespan = 6;
  EXPECT_THAT(run.check(), Contains(HasSubstr("'d0->d1' was full")));
}

TEST(Checker, RejectsMissingRepeatedAndUselessTransfers) {
  TwoTransfers run;
  run.timeline.transfers.pop_back();
  EXPECT_THAT(run.check(), Contains(HasSubstr("took place 0 times")));
  run = {};
  run.timeline.transfers.push_back({TensorId(1), NodeId(), DeviceId(0), DeviceId(1), 7, 10});
  EXPECT_THAT(run.check(), Contains(HasSubstr("took place 2 times")));
  run = {};
  run.timeline.transfers.push_back({TensorId(2), NodeId(), DeviceId(1), DeviceId(0), 5, 8});
  EXPECT_THAT(run.check(), Contains(HasSubstr("was not needed")));
}

TEST(Checker, RejectsWrongDurations) {
  TwoTransfers run;
  run.timeline.nodes[3].end = run.timeline.makespan = 9;
  EXPECT_THAT(run.check(), Contains(HasSubstr("takes 1")));
  EXPECT_THAT(run.check({.durations = false}), IsEmpty());
  run = {};
  run.timeline.transfers[1].end = 6.5;
  EXPECT_THAT(run.check(), Contains(HasSubstr("takes 3")));
}

TEST(Checker, RejectsAWrongMakespan) {
  TwoTransfers run;
  run.timeline.makespan = 7;
  EXPECT_THAT(run.check(), Contains(HasSubstr("ended at 8")));
}

TEST(Checker, RejectsAnIdleDevice) {
  TwoTransfers run;
  run.timeline.nodes[3] = {7.5, 8.5};
  run.timeline.makespan = 8.5;
  EXPECT_THAT(run.check(), Contains(HasSubstr("idled until 7.5")));
  EXPECT_THAT(run.check({.work_conserving = false}), IsEmpty());
  EXPECT_THAT(run.check({.tolerance = 0.5}), IsEmpty());
}

TEST(Checker, RejectsAnIdleChannel) {
  TwoTransfers run;
  run.timeline.transfers[1].start = 5;
  run.timeline.transfers[1].end = 8;
  run.timeline.nodes[3] = {8, 9};
  run.timeline.makespan = 9;
  EXPECT_THAT(run.check(), Contains(HasSubstr("route was free at 4")));
  EXPECT_THAT(run.check({.work_conserving = false}), IsEmpty());
}

TEST(Checker, RejectsTheWorseNodeFirst) {
  TwoTransfers run;
  std::swap(run.timeline.priority[0], run.timeline.priority[1]);  // a2 should have gone first
  EXPECT_THAT(run.check(), Contains(HasSubstr("'a2', which is better")));
  run.timeline.choice = Choice::kFifo;  // both ready at 0, so the lower id
  EXPECT_THAT(run.check(), IsEmpty());
  run.timeline.priority[0] = run.timeline.priority[1];
  run.timeline.choice = Choice::kPriority;  // a tie, so the lower id
  EXPECT_THAT(run.check(), IsEmpty());
}

TEST(Checker, FifoTakesTheEarliestReady) {
  // s(1) on d1 feeds c(1) on d0, transfer 0; a(2) and b(1) are on d0. Ready: a 0, b 0, c 1.
  const auto problem = uniform_problem(
      simple_graph({{"a", 2}, {"b", 1}, {"c", 1}, {"s", 1}}, {{"s", "c"}}, 0), 2, LinkMode::kFree);
  Timeline timeline{
      .choice = Choice::kFifo,
      .makespan = 4,
      .device = {DeviceId(0), DeviceId(0), DeviceId(0), DeviceId(1)},
      .priority = {0, 0, 9, 0},
      .nodes = {{0, 2}, {2, 3}, {3, 4}, {0, 1}},
      .transfers = {{TensorId(3), NodeId(2), DeviceId(1), DeviceId(0), 1, 1}},
  };
  EXPECT_THAT(check_timeline(*problem, timeline), IsEmpty());
  std::swap(timeline.nodes[1], timeline.nodes[2]);
  EXPECT_THAT(check_timeline(*problem, timeline), Contains(HasSubstr("'b', which is better")));
  timeline.choice = Choice::kPriority;
  EXPECT_THAT(check_timeline(*problem, timeline), IsEmpty());
}

// Three tensors ready at 1 on d0 wait for the one channel to d1: c1, c2, c3 by falling priority.
TEST(Checker, RejectsTheWorseTransferFirst) {
  const auto problem = uniform_problem(
      simple_graph({{"a", 1}, {"c1", 1}, {"c2", 1}, {"b", 1}}, {{"a", "c1"}, {"b", "c2"}}, 2), 3,
      LinkMode::kChannel);
  // a on d0 and b on d0: a 0-1, b 1-2. Transfers 1-3 and 3-5.
  Timeline timeline{
      .makespan = 6,
      .device = {DeviceId(0), DeviceId(1), DeviceId(1), DeviceId(0)},
      .priority = {9, 1, 2, 8},
      .nodes = {{0, 1}, {3, 4}, {5, 6}, {1, 2}},
      .transfers = {{TensorId(0), NodeId(), DeviceId(0), DeviceId(1), 1, 3},
                    {TensorId(3), NodeId(), DeviceId(0), DeviceId(1), 3, 5}},
  };
  EXPECT_THAT(check_timeline(*problem, timeline), IsEmpty());

  // x(1) on d0 writes p for u on d1 and q for v on d1; v is better, so q goes 1-3 and p 3-5.
  graph::GraphBuilder builder;
  const NodeId x = builder.add_node({.name = "x", .time = 1.0});
  const NodeId u = builder.add_node({.name = "u", .time = 1.0});
  const NodeId v = builder.add_node({.name = "v", .time = 1.0});
  const TensorId p = builder.add_tensor({.name = "p", .producer = x, .transfer_time = 2.0});
  const TensorId q = builder.add_tensor({.name = "q", .producer = x, .transfer_time = 2.0});
  builder.connect(p, u);
  builder.connect(q, v);
  const auto two = uniform_problem(std::move(builder).build(), 2, LinkMode::kChannel);
  timeline = {
      .makespan = 6,
      .device = {DeviceId(0), DeviceId(1), DeviceId(1)},
      .priority = {9, 1, 2},
      .nodes = {{0, 1}, {5, 6}, {3, 4}},
      .transfers = {{q, NodeId(), DeviceId(0), DeviceId(1), 1, 3},
                    {p, NodeId(), DeviceId(0), DeviceId(1), 3, 5}},
  };
  EXPECT_THAT(check_timeline(*two, timeline), IsEmpty());
  timeline.priority = {9, 2, 1};
  EXPECT_THAT(check_timeline(*two, timeline), Contains(HasSubstr("'p' to 'd1', which is better")));
  timeline.choice = Choice::kFifo;  // both ready at 1, so the lower tensor id
  EXPECT_THAT(check_timeline(*two, timeline), Contains(HasSubstr("'p' to 'd1', which is better")));
  timeline.choice = Choice::kRandom;
  EXPECT_THAT(check_timeline(*two, timeline), IsEmpty());
}

TEST(Checker, RejectsBrokenConstraintsAndMemory) {
  TwoTransfers run;
  const auto with = [&](graph::Constraints constraints) {
    return cost::Problem(run.problem->shared_graph(), run.problem->shared_topology(),
                         {.links = LinkMode::kChannel, .constraints = std::move(constraints)});
  };
  graph::Constraints pin, colocate;
  pin.pins = {{NodeId(0), "d1"}};
  colocate.colocated = {{NodeId(0), NodeId(2)}};
  EXPECT_THAT(check_timeline(with(pin), run.timeline), Contains(HasSubstr("must not run on 'd0'")));
  EXPECT_THAT(check_timeline(with(colocate), run.timeline),
              Contains(HasSubstr("must share a device")));

  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 1.0});
  builder.add_output(a, 100.0);
  builder.constraints().memory = {{"d0", 99}};
  const auto small = uniform_problem(std::move(builder).build(), 1, LinkMode::kFree);
  const Timeline timeline{
      .makespan = 1, .device = {DeviceId(0)}, .priority = {0}, .nodes = {{0, 1}}, .transfers = {}};
  EXPECT_THAT(check_timeline(*small, timeline), IsEmpty());
  EXPECT_THAT(check_timeline(*small, timeline, {.memory = true}), Contains(HasSubstr("d0 needs")));
}

// Case 5 of the semantics: a(1), b(4) make level 0 and c(1), after a, level 1.
TEST(Checker, SynchronousRunsKeepLevelsApart) {
  const auto problem = uniform_problem(
      simple_graph({{"a", 1}, {"b", 4}, {"c", 1}}, {{"a", "c"}}, 0), 2, LinkMode::kFree);
  Timeline timeline{.mode = Mode::kSynchronous,
                    .makespan = 5,
                    .device = {DeviceId(0), DeviceId(1), DeviceId(0)},
                    .priority = {2, 4, 1},
                    .nodes = {{0, 1}, {0, 4}, {4, 5}},
                    .transfers = {}};
  EXPECT_THAT(check_timeline(*problem, timeline), IsEmpty());
  // With barriers of 1: transfers of level 0 until 0, nodes 1-5, barrier, transfers, barrier, c
  // 7-8.
  Timeline with_barriers = timeline;
  with_barriers.nodes = {{1, 2}, {1, 5}, {7, 8}};
  with_barriers.makespan = 9;
  EXPECT_THAT(check_timeline(*problem, with_barriers, {.barrier_time = 1.0}), IsEmpty());
  EXPECT_THAT(check_timeline(*problem, with_barriers), Not(IsEmpty()));
  timeline.nodes[2] = {3.5, 4.5};
  timeline.makespan = 4.5;
  EXPECT_THAT(check_timeline(*problem, timeline), Contains(HasSubstr("before the barrier at 4")));
  timeline.nodes[2] = {6, 7};
  timeline.makespan = 7;
  EXPECT_THAT(check_timeline(*problem, timeline), Contains(HasSubstr("free from 4")));
}

// A damage to a timeline; false where it does not apply.
struct Damage {
  const char* name;
  bool (*apply)(Timeline&, Rng&);
};

std::uint32_t any(std::size_t count, Rng& rng) {
  return rng.below(static_cast<std::uint32_t>(count));
}

// Far below the shortest time in the runs, so that the order of events stays.
constexpr double kShift = 0.01;

const Damage kDamages[] = {
    {"a node runs earlier",
     [](Timeline& t, Rng& rng) {
       NodeRun& run = t.nodes[any(t.nodes.size(), rng)];
       if (run.start < kShift) return false;
       run.start -= kShift;
       run.end -= kShift;
       return true;
     }},
    {"the last node runs later",
     [](Timeline& t, Rng&) {
       const auto last = std::ranges::max_element(t.nodes, {}, &NodeRun::end);
       if (last->end != t.makespan) return false;  // an update arrives last
       last->start += kShift;
       last->end += kShift;
       t.makespan = last->end;
       return true;
     }},
    {"a node takes longer",
     [](Timeline& t, Rng& rng) {
       t.nodes[any(t.nodes.size(), rng)].end += kShift;
       return true;
     }},
    {"a node was elsewhere",
     [](Timeline& t, Rng& rng) {
       DeviceId& device = t.device[any(t.nodes.size(), rng)];
       device = DeviceId(device.value() == 0 ? 1 : 0);
       return true;
     }},
    {"the makespan is too short",
     [](Timeline& t, Rng&) {
       t.makespan -= kShift;
       return true;
     }},
    {"a transfer is missing",
     [](Timeline& t, Rng& rng) {
       if (t.transfers.empty()) return false;
       t.transfers.erase(t.transfers.begin() + any(t.transfers.size(), rng));
       return true;
     }},
    {"a transfer twice",
     [](Timeline& t, Rng& rng) {
       if (t.transfers.empty()) return false;
       t.transfers.push_back(t.transfers[any(t.transfers.size(), rng)]);
       return true;
     }},
    {"a transfer runs earlier",
     [](Timeline& t, Rng& rng) {
       if (t.transfers.empty()) return false;
       TransferRun& run = t.transfers[any(t.transfers.size(), rng)];
       if (run.start < kShift) return false;
       run.start -= kShift;
       run.end -= kShift;
       return true;
     }},
    {"a transfer runs later",
     [](Timeline& t, Rng& rng) {
       if (t.transfers.empty()) return false;
       TransferRun& run = t.transfers[any(t.transfers.size(), rng)];
       run.start += kShift;
       run.end += kShift;
       return true;
     }},
    {"a transfer is too fast",
     [](Timeline& t, Rng& rng) {
       if (t.transfers.empty()) return false;
       t.transfers[any(t.transfers.size(), rng)].end -= kShift;
       return true;
     }},
    {"a transfer from a copy",
     [](Timeline& t, Rng& rng) {
       if (t.transfers.empty()) return false;
       TransferRun& run = t.transfers[any(t.transfers.size(), rng)];
       std::swap(run.from, run.to);
       return true;
     }},
};

TEST(Checker, RejectsDamagedRuns) {
  int damaged[std::size(kDamages)] = {};
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const bool channels = seed % 2 == 0;
    const test::RandomGraphOptions options{
        .nodes = 14, .several_outputs = true, .homes = seed % 3 == 0 ? 3u : 0u};
    const auto problem = uniform_problem(test::random_graph(options, seed), 3,
                                         channels ? LinkMode::kChannel : LinkMode::kFree);
    const Placement placement = test::random_placement(*problem, seed);
    const Timeline good = seed % 5 == 0 ? test::checked_synchronous_run(*problem, placement)
                                        : test::checked_run(*problem, placement);
    Rng rng(seed);
    for (std::size_t i = 0; i < std::size(kDamages); ++i) {
      Timeline bad = good;
      if (!kDamages[i].apply(bad, rng)) continue;
      ++damaged[i];
      EXPECT_THAT(check_timeline(*problem, bad), Not(IsEmpty()))
          << kDamages[i].name << ", seed " << seed;
    }
  }
  for (std::size_t i = 0; i < std::size(kDamages); ++i) {
    EXPECT_GT(damaged[i], 50) << kDamages[i].name << " was hardly ever tried";
  }
}

}  // namespace
}  // namespace doppler::schedule
