#include "doppler/compile/plan_search.h"

#include <gtest/gtest.h>

#include <cmath>

#include "doppler/cost/problem.h"
#include "doppler/device/spec.h"
#include "doppler/place/registry.h"
#include "doppler/sim/simulator.h"
#include "doppler/tra/language/program_text.h"
#include "doppler/tra/operations.h"
#include "support/lowered.h"
#include "support/programs.h"

namespace doppler::compile {
namespace {

std::shared_ptr<const device::Topology> machine(const std::string& spec) {
  return std::make_shared<const device::Topology>(device::topology_from_spec(spec));
}

tra::Computation workload(const std::string& name, const std::map<std::string, std::int64_t>& sizes,
                          bool train = false) {
  std::vector<std::string> ignored;
  const tra::Program program = tra::workload(name, sizes, ignored);
  return train ? tra::training(program, tra::Optimizer::kSgd, 0.01) : tra::forward(program);
}

double quickly_placed(const graph::Graph& graph,
                      const std::shared_ptr<const device::Topology>& topology) {
  const cost::Problem problem(std::make_shared<graph::Graph>(graph), topology);
  return sim::Simulator(problem).makespan(place::make_enumerative()->place(problem, {}).placement,
                                          cost::kInfinity);
}

// What is found is no slower than what people write by hand, all placed by the same method.
TEST(PlanSearch, IsNoSlowerThanShardingsByHand) {
  const auto topology = machine("2n2xA100");
  for (const bool train : {false, true}) {
    const tra::Computation computation = workload("llama-block", {{"seq", 1024}}, train);
    const FoundPlan found = find_plan(computation, topology, kernel::default_kernels());
    ASSERT_TRUE(found.simulated_seconds);
    EXPECT_GT(found.simulated_plans, 10u);
    EXPECT_DOUBLE_EQ(*found.simulated_seconds, quickly_placed(found.lowered.graph, topology));
    for (const tra::Parts& by_hand :
         {tra::Parts{{"seq", 4}}, tra::Parts{{"heads", 4}, {"ffn", 4}},
          tra::Parts{{"seq", 2}, {"heads", 2}, {"ffn", 2}},
          tra::Parts{{"seq", 2}, {"embed", 2}, {"heads", 2}, {"ffn", 2}}}) {
      const FoundPlan given =
          given_plan(computation, tra::machine_of(*topology), by_hand, kernel::default_kernels());
      EXPECT_LE(*found.simulated_seconds, 1.02 * quickly_placed(given.lowered.graph, topology))
          << (train ? "training " : "forward ") << by_hand.begin()->first;
    }
  }
}

TEST(PlanSearch, ProductsHavePartsForEveryDevice) {
  for (const std::string spec : {"3xA100", "8xV100"}) {
    const auto topology = machine(spec);
    const FoundPlan found =
        find_plan(workload("llama-block", {{"seq", 512}}), topology, kernel::default_kernels());
    for (const tra::PlannedOperation& operation : found.plan.operations()) {
      const tra::Expression& e = *operation.operation;
      if (e.op != tra::Operator::kJoin || e.kernel.form != tra::BlockKernel::Form::kContract) {
        continue;
      }
      std::int64_t parts = 1;
      for (const auto& [name, count] : operation.parts) parts *= count;
      EXPECT_GE(parts, static_cast<std::int64_t>(topology->device_count())) << e.name;
    }
  }
}

TEST(PlanSearch, GivesTheSameGraphEveryTime) {
  const tra::Computation computation = workload("ffnn", {}, true);
  const auto topology = machine("4xA100");
  const FoundPlan a = find_plan(computation, topology, kernel::default_kernels());
  const FoundPlan b = find_plan(computation, topology, kernel::default_kernels());
  EXPECT_EQ(a.lowered.graph.hash(), b.lowered.graph.hash());
}

// What is searched for, splits of one dimension by many numbers among them, computes the same.
TEST(PlanSearch, PlansComputeWhatTheInterpreterDoes) {
  for (const std::string& name : test::small_programs()) {
    SCOPED_TRACE(name);
    const tra::Program program = test::small_program(name);
    const FoundPlan found = find_plan(tra::training(program, tra::Optimizer::kSgd, 0.1),
                                      machine("3xA100"), kernel::default_kernels());
    ASSERT_GT(found.simulated_plans, 1u);
    Rng rng(3);
    test::Values before = test::program_inputs(program, rng);
    test::Values after = before;
    const double loss = test::DenseTraining(program, tra::Optimizer::kSgd, 0.1).step(after);
    const test::LoweredRun<float> run(found.lowered, before);
    EXPECT_LT(test::relative_error(run.root(0), {{loss}}), 1e-4);
    for (const auto& [parameter, value] : run.updated()) {
      EXPECT_LT(test::relative_error(value, after.at(parameter)), 1e-4) << parameter;
    }
  }
}

// Hundreds of names of dimensions, each in one place.
TEST(PlanSearch, EndsWhateverTheProgram) {
  tra::Computation computation{"apart", {}};
  for (int i = 0; i < 150; ++i) {
    const std::string n = std::to_string(i);
    const auto tensor = [&](const std::string& tensor_name, const tra::Dimensions& dimensions) {
      return tra::input(tensor_name + n, {{}, dimensions});
    };
    computation.roots.push_back(
        {tra::contract(tensor("x", {{"a" + n, 64}, {"b" + n, 64}}),
                       tensor("w", {{"b" + n, 64}, {"c" + n, 64}}), {"a" + n, "c" + n}),
         "y" + n});
  }
  EXPECT_GE(find_plan(computation, machine("8xV100"), kernel::default_kernels())
                .lowered.graph.node_count(),
            8u * 150u);
}

// Without figures of the devices nothing can be simulated; the prediction decides.
TEST(PlanSearch, PlansByPredictionWhereCostsAreUnknown) {
  const FoundPlan found =
      find_plan(workload("ffnn", {}), machine("uniform:4"), kernel::default_kernels());
  EXPECT_FALSE(found.simulated_seconds);
  EXPECT_EQ(found.simulated_plans, 0u);
  EXPECT_GE(found.lowered.graph.node_count(), 12u);
}

// No split makes this fit: a plan all the same, for placement to explain.
TEST(PlanSearch, GivesAPlanWhereMemoryIsShort) {
  const FoundPlan found = find_plan(workload("ffnn", {{"batch", 40'000'000}}), machine("2xP100"),
                                    kernel::default_kernels());
  ASSERT_TRUE(found.simulated_seconds);
  EXPECT_TRUE(std::isinf(*found.simulated_seconds));
}

}  // namespace
}  // namespace doppler::compile
