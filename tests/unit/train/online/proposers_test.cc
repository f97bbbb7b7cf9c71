#include "doppler/train/online/proposers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "doppler/sim/simulator.h"
#include "support/graphs.h"
#include "support/random_problems.h"

namespace doppler::train {
namespace {

TEST(Proposers, TransferSecondsAreThoseOfARun) {
  int checked = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(12, seed);
    if (problem->links() != cost::LinkMode::kChannel) continue;
    ++checked;
    const schedule::Placement placement = test::random_placement(*problem, seed);
    double seconds = 0.0;
    for (const auto& transfer : sim::Simulator(*problem).timeline(placement).transfers) {
      seconds += transfer.end - transfer.start;
    }
    EXPECT_NEAR(transfer_seconds(*problem, placement), seconds, 1e-9 * (1.0 + seconds));
  }
  EXPECT_GT(checked, 50);
}

// Two chains that change places at every step take hardly longer than two that stay where they are,
// since transfers are cheap; all the transfers can be saved.
TEST(Proposers, TrafficIsSavedWhereItCostsNoTime) {
  constexpr int kSteps = 10;
  std::vector<test::TestNode> nodes;
  std::vector<test::TestEdge> edges;
  for (int step = 0; step < kSteps; ++step) {
    for (const std::string chain : {"a", "b"}) {
      nodes.push_back({chain + std::to_string(step), 1.0});
      if (step > 0)
        edges.push_back({chain + std::to_string(step - 1), chain + std::to_string(step)});
    }
  }
  const auto problem =
      test::uniform_problem(test::simple_graph(nodes, edges, 1e-3), 2, cost::LinkMode::kChannel);
  schedule::Placement crossing{.device = {}, .priority = std::vector<double>(nodes.size())};
  for (int v = 0; v < 2 * kSteps; ++v) {
    crossing.device.push_back(DeviceId(static_cast<std::uint32_t>((v + v / 2) % 2)));
    crossing.priority[static_cast<std::size_t>(v)] = -v;
  }
  sim::Simulator simulator(*problem);
  const double before = simulator.makespan(crossing, cost::kInfinity);
  EXPECT_NEAR(transfer_seconds(*problem, crossing), 2 * (kSteps - 1) * 1e-3, 1e-12);
  const auto proposer = make_traffic_proposer(1000);
  const ProposalContext context{
      .problem = problem, .incumbent = crossing, .predicted = before, .seed = 1};
  const std::vector<schedule::Placement> found = proposer->propose(context);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(transfer_seconds(*problem, found.front()), 0.0);
  EXPECT_LE(simulator.makespan(found.front(), cost::kInfinity), before);

  // From there nothing is left to save.
  const ProposalContext settled_context{
      .problem = problem, .incumbent = found.front(), .predicted = before, .seed = 1};
  EXPECT_TRUE(proposer->propose(settled_context).empty());
}

}  // namespace
}  // namespace doppler::train
