#include "doppler/place/run_method.h"

#include <gtest/gtest.h>

#include "doppler/analysis/compare.h"
#include "doppler/base/error.h"
#include "doppler/sim/repeated_runs.h"
#include "support/graphs.h"

namespace doppler::place {
namespace {

using cost::LinkMode;

// Puts everything on one device and remembers what it was asked.
class Fixed final : public place::Placer {
 public:
  explicit Fixed(bool searches) : searches_(searches) {}
  std::string_view name() const override { return "fixed"; }
  std::string_view summary() const override { return "for tests"; }
  bool uses_budget() const override { return searches_; }
  place::PlaceResult place(const cost::Problem& problem,
                           const place::PlaceRequest& request) const override {
    requests.push_back(request);
    seconds_left.push_back(request.stop.seconds_left());
    if (infeasible) throw InfeasibleError("nothing fits");
    return {.placement = schedule::with_b_levels(
                problem, std::vector<DeviceId>(problem.node_count(), DeviceId{0})),
            .evaluations = 7,
            .proved_optimal = proves,
            .note = "noted"};
  }
  mutable std::vector<place::PlaceRequest> requests;
  mutable std::vector<double> seconds_left;
  bool proves = false;
  bool infeasible = false;

 private:
  bool searches_;
};

// a(1) -> b(2), transfer 9: 3 on one device, which is also the longest path.
std::shared_ptr<const cost::Problem> chain_problem() {
  return test::uniform_problem(test::simple_graph({{"a", 1}, {"b", 2}}, {{"a", "b"}}, 9), 2,
                               LinkMode::kFree);
}

// a(1), b(1) unrelated: 2 on one device, while the load bound is 1.
std::shared_ptr<const cost::Problem> pair_problem() {
  return test::uniform_problem(test::simple_graph({{"a", 1}, {"b", 1}}, {}, 0), 2, LinkMode::kFree);
}

TEST(RunMethod, MeasuresWhatTheMethodGave) {
  const Result result = run_method(*pair_problem(), Fixed(false), {.seed = 5});
  EXPECT_EQ(result.method, "fixed");
  EXPECT_EQ(result.seed, 5u);
  EXPECT_EQ(result.note, "noted");
  EXPECT_EQ(result.evaluations, 7u);
  EXPECT_DOUBLE_EQ(result.figures.nominal, 2);
  EXPECT_DOUBLE_EQ(result.figures.any_order.mean, 2);
  EXPECT_EQ(result.figures.robust.runs, 100);
  EXPECT_DOUBLE_EQ(result.bound.value, 1);
  EXPECT_DOUBLE_EQ(result.gap, 1);
  EXPECT_FALSE(result.optimal);
  EXPECT_FALSE(result.timed);
  EXPECT_FALSE(result.nominal_reference);
}

TEST(RunMethod, MeetingTheBoundIsOptimal) {
  const Result result = run_method(*chain_problem(), Fixed(false), {});
  EXPECT_TRUE(result.optimal);
  EXPECT_EQ(result.gap, 0.0);
}

TEST(RunMethod, AProofBecomesTheBound) {
  Fixed method(true);
  method.proves = true;
  const Result result = run_method(*pair_problem(), method, {.max_evaluations = 3});
  EXPECT_TRUE(result.optimal);
  EXPECT_EQ(result.bound.name, "fixed");
  EXPECT_DOUBLE_EQ(result.bound.value, 2);
}

TEST(RunMethod, PassesBudgetsOn) {
  const auto problem = pair_problem();
  const Fixed search(true);
  run_method(*problem, search, {.max_evaluations = 40});
  EXPECT_EQ(search.requests.back().max_evaluations, 40u);
  EXPECT_GT(search.seconds_left.back(), 1e299);
  EXPECT_TRUE(run_method(*problem, search, {.budget_seconds = 50}).timed);
  EXPECT_EQ(search.requests.back().max_evaluations, 0u);
  EXPECT_LE(search.seconds_left.back(), 50.0);
  EXPECT_GE(search.seconds_left.back(), 25.0 - 5.0);  // at most half is kept back
  run_method(*problem, search, {});
  EXPECT_LE(search.seconds_left.back(), kDefaultBudgetSeconds);
  const Fixed pass(false);
  run_method(*problem, pass, {.budget_seconds = 50});
  EXPECT_GT(pass.seconds_left.back(), 1e299);
}

TEST(RunMethod, OtherObjectivesGetANominalReference) {
  const Fixed search(true);
  const Result result =
      run_method(*pair_problem(), search,
                 {.objective = schedule::Objective::kAnyOrder, .max_evaluations = 100});
  ASSERT_EQ(search.requests.size(), 2u);
  EXPECT_EQ(search.requests[0].objective, schedule::Objective::kNominal);
  EXPECT_EQ(search.requests[0].max_evaluations, 10u);
  EXPECT_EQ(search.requests[1].objective, schedule::Objective::kAnyOrder);
  EXPECT_EQ(search.requests[1].max_evaluations, 100u);
  ASSERT_TRUE(result.nominal_reference);
  EXPECT_DOUBLE_EQ(*result.nominal_reference, 2);
}

TEST(RunMethod, RefusesBadSettings) {
  const auto problem = pair_problem();
  const Fixed method(true);
  EXPECT_THROW(run_method(*problem, method, {.budget_seconds = 1, .max_evaluations = 1}),
               ParameterError);
  EXPECT_THROW(run_method(*problem, method, {.budget_seconds = -1}), ParameterError);
  EXPECT_THROW(run_method(*problem, method, {.budget_seconds = 0}), ParameterError);
  EXPECT_THROW(run_method(*problem, method, {.max_evaluations = 0}), ParameterError);
  EXPECT_THROW(run_method(*problem, method, {.threads = 0}), ParameterError);
  EXPECT_TRUE(method.requests.empty());
}

TEST(RunMethod, AnInterruptIsReported) {
  const std::atomic<bool> interrupt{true};
  EXPECT_TRUE(
      run_method(*pair_problem(), Fixed(true), {.stop = StopToken(&interrupt)}).interrupted);
}

TEST(Compare, RunsEveryMethodAndSeedAndSurvivesFailures) {
  Fixed good(false), bad(false);
  bad.infeasible = true;
  const auto entries =
      analysis::compare(*pair_problem(), {&good, &bad}, {.run = {.seed = 3}, .seeds = 2});
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_TRUE(entries[0].result);
  EXPECT_EQ(entries[1].seed, 4u);
  EXPECT_FALSE(entries[2].result);
  EXPECT_EQ(entries[2].failure, "nothing fits");
}

TEST(Compare, AnInterruptEndsIt) {
  const std::atomic<bool> interrupt{true};
  const Fixed method(false);
  EXPECT_TRUE(
      analysis::compare(*pair_problem(), {&method}, {.run = {.stop = StopToken(&interrupt)}})
          .empty());
}

// Case 5 of docs/semantics.md: 4 work-conserving, 5 synchronous; with barriers of 1, two levels
// with two barriers each add 4.
TEST(Simulate, BothModes) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1}, {"b", 4}, {"c", 1}}, {{"a", "c"}}, 0), 2, LinkMode::kFree);
  const auto placement = schedule::with_b_levels(*problem, {DeviceId{0}, DeviceId{1}, DeviceId{0}});
  const sim::SimulateResult wc = sim::simulate(*problem, placement, {.runs = 3});
  EXPECT_EQ(wc.runs, 3);
  EXPECT_EQ(wc.min, 4);
  EXPECT_EQ(wc.max, 4);
  EXPECT_DOUBLE_EQ(wc.utilisation[0], 0.5);
  EXPECT_DOUBLE_EQ(wc.utilisation[1], 1.0);
  const sim::SimulateResult sync =
      sim::simulate(*problem, placement, {.mode = schedule::Mode::kSynchronous, .barrier_time = 1});
  EXPECT_EQ(sync.median, 9);
}

// x(1) and y(3) are ready at once on d0; z(3) on d1 follows x. x first: z 1-4, 4 in all. y first: x
// 3-4, z 4-7.
TEST(Simulate, RandomChoiceVariesAndRepeats) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"x", 1}, {"y", 3}, {"z", 3}}, {{"x", "z"}}, 0), 2, LinkMode::kFree);
  const auto placement = schedule::with_b_levels(*problem, {DeviceId{0}, DeviceId{0}, DeviceId{1}});
  const sim::SimulateSettings settings{.choice = schedule::Choice::kRandom, .runs = 50};
  const sim::SimulateResult result = sim::simulate(*problem, placement, settings);
  EXPECT_EQ(result.min, 4);
  EXPECT_EQ(result.max, 7);
  EXPECT_EQ(sim::simulate(*problem, placement, settings).median, result.median);
}

}  // namespace
}  // namespace doppler::place
