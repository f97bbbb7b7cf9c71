// Bulk-synchronous runs by hand.
#include <gtest/gtest.h>

#include "support/checked_run.h"
#include "support/graphs.h"

namespace doppler::test {
namespace {

using cost::LinkMode;

TEST(Synchronous, ATensorMovedOnceStays) {
  for (const LinkMode links : kLinkModes) {
    // a(1) on d0; b(1) on d1 reads a; c(1) on d1 reads a and b. Transfers 2. Level 0: a 0-1. Level
    // 1: transfer 1-3, b 3-4. Level 2: a is there already, c 4-5.
    const auto problem = uniform_problem(
        simple_graph({{"a", 1}, {"b", 1}, {"c", 1}}, {{"a", "b"}, {"a", "c"}, {"b", "c"}}, 2), 2,
        links);
    const auto placement = place(*problem, {{"a", "d0"}, {"b", "d1"}, {"c", "d1"}});
    const auto run = checked_synchronous_run(*problem, placement);
    EXPECT_EQ(run.transfers.size(), 1u);
    EXPECT_EQ(run.makespan, 5);
    // With barriers of 1, two per level: a 1-2, transfer 3-5, b 6-7, c 9-10, the last barrier
    // to 11.
    const auto slow = checked_synchronous_run(*problem, placement, 1.0);
    EXPECT_EQ(run_of(*problem, slow, "a").start, 1);
    EXPECT_EQ(transfer_of(*problem, slow, "a", "d1").start, 3);
    EXPECT_EQ(run_of(*problem, slow, "b").start, 6);
    EXPECT_EQ(run_of(*problem, slow, "c").start, 9);
    EXPECT_EQ(slow.makespan, 11);
  }
}

TEST(Synchronous, NodesWaitForAllTransfersOfTheLevel) {
  // a1, a2 on d0 feed b1, b2 on d1, and e on d0 follows a1; transfers 3. Level 0: 0-2. Level 1 with
  // channels: transfers 2-5 and 5-8, then e 8-9 and b1 8-9, b2 9-10. Free: transfers 2-5, b2 6-7.
  const graph::Graph graph = simple_graph({{"a1", 1}, {"a2", 1}, {"b1", 1}, {"b2", 1}, {"e", 1}},
                                          {{"a1", "b1"}, {"a2", "b2"}, {"a1", "e"}}, 3);
  for (const LinkMode links : kLinkModes) {
    const auto problem = uniform_problem(graph, 2, links);
    const auto run = checked_synchronous_run(
        *problem,
        place(*problem, {{"a1", "d0"}, {"a2", "d0"}, {"b1", "d1"}, {"b2", "d1"}, {"e", "d0"}}));
    const double ready = links == LinkMode::kChannel ? 8 : 5;
    EXPECT_EQ(run_of(*problem, run, "e").start, ready);
    EXPECT_EQ(run_of(*problem, run, "b1").start, ready);
    EXPECT_EQ(run.makespan, ready + 2);
  }
}

TEST(Synchronous, EachDeviceKeepsThePriorityOrder) {
  const auto problem =
      uniform_problem(simple_graph({{"a", 1}, {"b", 2}, {"c", 3}}, {}, 0), 1, LinkMode::kFree);
  const std::vector<std::pair<std::string, std::string>> assignment = {
      {"a", "d0"}, {"b", "d0"}, {"c", "d0"}};
  const auto placement = place(*problem, assignment, {"c", "a", "b"});
  const auto run = checked_synchronous_run(*problem, placement);
  EXPECT_EQ(run_of(*problem, run, "a").start, 3);
  EXPECT_EQ(run_of(*problem, run, "b").start, 4);
  // All become ready together, so fifo means by id.
  const auto fifo =
      checked_synchronous_run(*problem, placement, 0.0, {.choice = schedule::Choice::kFifo});
  EXPECT_EQ(run_of(*problem, fifo, "c").start, 3);
}

}  // namespace
}  // namespace doppler::test
