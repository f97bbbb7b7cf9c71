// The engine's core on a virtual clock against the simulator: both were written from
// docs/semantics.md and share no code, so what they agree on is what the page says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "doppler/base/error.h"
#include "doppler/exec/admission.h"
#include "doppler/exec/dispatch_queue.h"
#include "doppler/exec/duration_model.h"
#include "doppler/exec/engine.h"
#include "doppler/exec/timed_run.h"
#include "doppler/schedule/checker.h"
#include "doppler/schedule/memory.h"
#include "doppler/sim/simulator.h"
#include "support/random_problems.h"

namespace doppler::exec {
namespace {

bool takes_no_time(const schedule::Timeline& timeline) {
  const auto none = [](const auto& run) { return run.start == run.end; };
  return std::any_of(timeline.nodes.begin(), timeline.nodes.end(), none) ||
         std::any_of(timeline.transfers.begin(), timeline.transfers.end(), none);
}

TEST(DispatchQueue, RunsLikeTheSimulator) {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(2 + seed % 40, seed);
    const schedule::Placement placement = test::random_placement(*problem, seed);
    const TransferPlan plan(*problem, placement);
    const DurationModel durations(*problem);
    for (const auto choice : {schedule::Choice::kPriority, schedule::Choice::kFifo}) {
      DispatchQueue queue(*problem, placement, plan, {.choice = choice});
      const schedule::Timeline mine =
          run_virtually(*problem, placement, plan, queue, durations, seed);
      schedule::Timeline theirs;
      sim::Simulator(*problem).timeline(placement, {.choice = choice}, theirs);
      ASSERT_EQ(mine.makespan, theirs.makespan);
      for (std::size_t v = 0; v < problem->node_count(); ++v) {
        ASSERT_EQ(mine.nodes[v].start, theirs.nodes[v].start) << "node " << v;
        ASSERT_EQ(mine.nodes[v].end, theirs.nodes[v].end) << "node " << v;
      }
      ASSERT_EQ(mine.transfers.size(), theirs.transfers.size());
    }
  }
}

// On the wall clock everything happens when the virtual clock says, as late as the engine itself
// admits and no later: waking up late changes no order. Without that, a swap of two nodes would
// show as a difference of whole node times.
TEST(DispatchQueue, AWallClockKeepsTheOrderOfAVirtualOne) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(2 + seed % 40, seed);
    const schedule::Placement placement = test::random_placement(*problem, seed);
    schedule::Timeline expected;
    sim::Simulator(*problem).timeline(placement, {}, expected);
    const double scale = 0.02 / expected.makespan;  // a fiftieth of a second each
    Engine engine(problem,
                  {.backend = "emulated", .computes = false, .machine = {.time_scale = scale}});
    engine.load(placement);
    const schedule::Timeline found = engine.run();
    const double late = engine.pacing_error() / scale;
    const auto is_on_time = [&](double planned, double real) {
      return real >= planned - 1e-6 / scale && real <= planned + late + 1e-6 / scale;
    };
    for (std::size_t v = 0; v < problem->node_count(); ++v) {
      EXPECT_PRED2(is_on_time, expected.nodes[v].start, found.nodes[v].start) << "node " << v;
      EXPECT_PRED2(is_on_time, expected.nodes[v].end, found.nodes[v].end) << "node " << v;
    }
    ASSERT_EQ(found.transfers.size(), expected.transfers.size());
  }
}

TEST(DispatchQueue, RandomRunsObeyTheRules) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(2 + seed % 40, seed);
    const schedule::Placement placement = test::random_placement(*problem, seed);
    const TransferPlan plan(*problem, placement);
    DispatchQueue queue(*problem, placement, plan, {.choice = schedule::Choice::kRandom});
    const schedule::Timeline timeline =
        run_virtually(*problem, placement, plan, queue, DurationModel(*problem), seed);
    EXPECT_THAT(schedule::check_timeline(*problem, timeline), testing::IsEmpty());
  }
}

// Every device has just what the nominal run needs. In any order of execution and whatever things
// take, runs come to their end and never need more.
TEST(DispatchQueue, LittleMemoryDelaysRunsButNeverStopsThem) {
  int limited = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    const auto roomy = test::random_problem(2 + seed % 40, seed);
    const schedule::Placement placement = test::random_placement(*roomy, seed);
    schedule::MemoryMeter meter(*roomy);
    meter.measure(sim::Simulator(*roomy).timeline(placement));
    cost::ProblemOptions options{.links = roomy->links()};
    for (std::size_t d = 0; d < roomy->device_count(); ++d) {
      options.constraints.memory.push_back(
          {roomy->topology().device(DeviceId::of(d)).name,
           static_cast<std::uint64_t>(std::ceil(meter.peak_bytes()[d]))});
    }
    const cost::Problem problem(roomy->shared_graph(), roomy->shared_topology(), options);
    const TransferPlan plan(problem, placement);
    StartOrder order;
    try {
      order = find_start_order(problem, placement, plan);
    } catch (const InfeasibleError&) {  // nodes that take no time need more than the page says
      ++refused;
      continue;
    }
    const DurationModel durations(problem, {.jitter = 0.5});
    for (const auto choice :
         {schedule::Choice::kPriority, schedule::Choice::kFifo, schedule::Choice::kRandom}) {
      DispatchQueue queue(problem, placement, plan, {.choice = choice}, &order);
      const schedule::Timeline timeline =
          run_virtually(problem, placement, plan, queue, durations, seed);
      schedule::MemoryMeter limited_meter(problem);
      limited_meter.measure(timeline);
      // Things that take no time count together with whatever else happens at that moment.
      if (!takes_no_time(timeline)) {
        EXPECT_EQ(limited_meter.excess_bytes(), 0.0);
      }
      EXPECT_THAT(schedule::check_timeline(problem, timeline,
                                           {.durations = false, .work_conserving = false}),
                  testing::IsEmpty());
      DispatchQueue unlimited_queue(problem, placement, plan, {.choice = choice});
      const schedule::Timeline unlimited =
          run_virtually(problem, placement, plan, unlimited_queue, durations, seed);
      limited_meter.measure(unlimited);
      limited += limited_meter.excess_bytes() > 0.0;
    }
  }
  EXPECT_GT(limited, 100);  // runs in which the limit mattered
  EXPECT_LT(refused, 100);
}

TEST(DispatchQueue, SynchronousRunsAreThoseOfTheSimulator) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(2 + seed % 40, seed);
    if (problem->links() == cost::LinkMode::kFree) continue;
    ++compared;
    const schedule::Placement placement = test::random_placement(*problem, seed);
    const TransferPlan plan(*problem, placement);
    for (const auto choice : {schedule::Choice::kPriority, schedule::Choice::kFifo}) {
      DispatchQueue queue(*problem, placement, plan,
                          {.choice = choice, .mode = schedule::Mode::kSynchronous});
      const schedule::Timeline mine =
          run_virtually(*problem, placement, plan, queue, DurationModel(*problem), seed);
      const schedule::Timeline theirs =
          sim::run_synchronous(*problem, placement, 0.0, {.choice = choice});
      ASSERT_EQ(mine.makespan, theirs.makespan);
      for (std::size_t v = 0; v < problem->node_count(); ++v) {
        ASSERT_EQ(mine.nodes[v].start, theirs.nodes[v].start) << "node " << v;
      }
    }
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace doppler::exec
