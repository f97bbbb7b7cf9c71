// Scheduling anomalies: with work-conserving execution and fixed priorities, less work or more
// resources can make a run longer, and never waiting can lose to waiting. (R. L. Graham, "Bounds on
// multiprocessing timing anomalies", 1969.) They follow from the rules and are not defects; a
// change that makes one vanish has changed the semantics.
#include <gtest/gtest.h>

#include "support/checked_run.h"
#include "support/graphs.h"

namespace doppler::test {
namespace {

using cost::LinkMode;

TEST(Anomalies, AShorterNodeLengthensTheRun) {
  // d0: b, d; d1: a, c, e. b feeds d and e, c feeds d; transfers take no time. Best first: e, d, a,
  // c, b.
  //
  // b takes 4: a 0-3, then c, for e is not ready: 3-5. b 0-4. d waits for c: 5-9. e 5-7.
  // Makespan 9. b takes 3: when a ends at 3, e is ready and better than c: e 3-5, c 5-7. d 7-11.
  // Makespan 11.
  const auto run = [](double b) {
    const auto problem =
        uniform_problem(simple_graph({{"a", 3}, {"b", b}, {"c", 2}, {"d", 4}, {"e", 2}},
                                     {{"b", "d"}, {"b", "e"}, {"c", "d"}}, 0),
                        2, LinkMode::kFree);
    return checked_run(
               *problem,
               place(*problem, {{"a", "d1"}, {"b", "d0"}, {"c", "d1"}, {"d", "d0"}, {"e", "d1"}},
                     {"e", "d", "a", "c", "b"}))
        .makespan;
  };
  EXPECT_EQ(run(4), 9);
  EXPECT_EQ(run(3), 11);
}

TEST(Anomalies, MoreChannelCapacityLengthensTheRun) {
  // Three devices behind one bridge of 1 byte/s; every tensor has 2 bytes, so a transfer takes 2.
  // a(2) on d1 feeds c(3) and d(3) on d0, b(2) on d2 feeds d, c feeds e(1) on d1. Best first: d, a,
  // e, c, b.
  //
  // Capacity 1: a and b 0-2. Both transfers to d0 are as urgent as d; a's, the lower id, goes 2-4,
  // b's 4-6. c starts at 4, for d is not ready: 4-7. d 7-10. c's result moves 7-9, e 9-10.
  // Makespan 10. Capacity 2: both move 2-4. Now d is ready at 4 and goes first: 4-7, c 7-10, its
  // result moves 10-12, e 12-13. Makespan 13.
  const auto run = [](std::uint32_t capacity) {
    graph::GraphBuilder builder;
    const auto add = [&](const char* name, double time) {
      const NodeId node = builder.add_node({.name = name, .time = time});
      return std::pair(node, builder.add_output(node, 2.0));
    };
    const auto a = add("a", 2), b = add("b", 2), c = add("c", 3), d = add("d", 3), e = add("e", 1);
    builder.connect(a.second, c.first);
    builder.connect(a.second, d.first);
    builder.connect(b.second, d.first);
    builder.connect(c.second, e.first);
    device::TopologySpec spec;
    spec.kinds = {{.name = "k"}};
    spec.channels = {{.name = "bridge", .bandwidth = 1.0, .capacity = capacity}};
    for (const char* name : {"d0", "d1", "d2"}) {
      spec.devices.push_back({.name = name, .egress = {ChannelId(0)}, .ingress = {ChannelId(0)}});
    }
    const auto problem = make_problem(std::move(builder).build(), spec);
    return checked_run(
               *problem,
               place(*problem, {{"a", "d1"}, {"b", "d2"}, {"c", "d0"}, {"d", "d0"}, {"e", "d1"}},
                     {"d", "a", "e", "c", "b"}))
        .makespan;
  };
  EXPECT_EQ(run(1), 10);
  EXPECT_EQ(run(2), 13);
}

TEST(Anomalies, WorkConservingLosesToSynchronous) {
  // d0: a(1), b(3), d(1); d1: c(3). a feeds c and d, b feeds c; transfers take no time. Best first:
  // c, d, a, b.
  //
  // Work-conserving: a 0-1; d is ready and better than b: d 1-2, b 2-5, c 5-8. Makespan 8.
  // Synchronous: d belongs to level 1 and must wait: a 0-1, b 1-4; then c 4-7 and d 4-5.
  // Makespan 7.
  const auto problem = uniform_problem(simple_graph({{"a", 1}, {"b", 3}, {"c", 3}, {"d", 1}},
                                                    {{"a", "c"}, {"a", "d"}, {"b", "c"}}, 0),
                                       2, LinkMode::kFree);
  const auto placement =
      place(*problem, {{"a", "d0"}, {"b", "d0"}, {"c", "d1"}, {"d", "d0"}}, {"c", "d", "a", "b"});
  EXPECT_EQ(checked_run(*problem, placement).makespan, 8);
  EXPECT_EQ(checked_synchronous_run(*problem, placement).makespan, 7);
}

}  // namespace
}  // namespace doppler::test
