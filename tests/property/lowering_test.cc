// Random expressions under random shardings: the lowered graph, run serially, gives what the dense
// interpreter gives for the expressions.
//
// Errors are the largest difference over the largest magnitude of what is expected. Magnitudes
// count as at least kLeast: values are near one, and a result that cancels out keeps the rounding
// of its terms.
#include "doppler/tra/lowering.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "doppler/tra/operations.h"
#include "doppler/tra/program.h"
#include "support/lowered.h"
#include "support/random_programs.h"
#include "support/tra.h"

namespace doppler {
namespace {

using tra::Blocks;
using tra::Relation;

constexpr std::uint64_t kLoweringSeeds = 300;
constexpr double kFloatTolerance = 1e-4, kDoubleTolerance = 1e-11, kLeast = 0.02;

void expect_lowered_values(const std::vector<Relation>& roots, const test::Values& inputs,
                           const tra::Sharding& sharding) {
  const std::vector<Relation> sharded = tra::shard(roots, sharding);
  std::vector<tra::Root> named;
  for (const Relation& relation : sharded) {
    named.push_back({relation, fmt::format("root {}", named.size())});
  }
  const tra::Lowered lowered = tra::lower(named, kernel::default_kernels(), "random");
  const std::vector<Blocks> expected = tra::interpret(roots, inputs);
  const test::LoweredRun<float> in_float(lowered, inputs);
  const test::LoweredRun<double> in_double(lowered, inputs);
  for (std::size_t r = 0; r < roots.size(); ++r) {
    const auto error = [&](const Blocks& found) {
      return test::relative_error(test::unsplit(sharded[r]->type, found), expected[r], kLeast);
    };
    EXPECT_LT(error(in_float.root(r)), kFloatTolerance) << "root " << r;
    EXPECT_LT(error(in_double.root(r)), kDoubleTolerance) << "root " << r << " in double";
  }
}

TEST(LoweringProperty, RandomExpressions) {
  for (std::uint64_t seed = 0; seed < kLoweringSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto [program, differentiable, inputs] = test::random_program(seed);
    const std::vector<Relation> roots = test::roots_of(program);
    expect_lowered_values(roots, inputs, test::random_sharding(roots, seed));
  }
}

TEST(LoweringProperty, GradientsOfRandomExpressions) {
  for (std::uint64_t seed = kLoweringSeeds; seed < 2 * kLoweringSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto [program, differentiable, inputs] = test::random_program(seed);
    std::vector<Relation> roots = tra::gradients(*program.loss, differentiable);
    roots.push_back(*program.loss);
    expect_lowered_values(roots, inputs, test::random_sharding(roots, seed));
  }
}

// Blocks for some keys only, as in a graph convolution, forward and backward.
TEST(LoweringProperty, SparseJoins) {
  for (std::uint64_t seed = 0; seed < kLoweringSeeds / 6; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng = Rng::stream(seed, 0x5b);
    const auto size = [&] { return std::int64_t{1} + rng.below(7); };
    const std::int64_t parts = size();
    std::vector<tra::Key> keys{{rng.below(static_cast<std::uint32_t>(parts)), 0}};
    for (std::int64_t p = 0; p < parts; ++p) {
      for (std::int64_t q = 1; q < parts; ++q) {
        if (rng.chance(0.4)) keys.push_back({p, q});
      }
    }
    const tra::Dimension m{"m", size()}, n{"n", m.size}, f{"f", size()}, g{"g", size()};
    const Relation adjacency =
        tra::input("adjacency", {tra::KeySet({{"p", parts}, {"q", parts}}, keys), {m, n}});
    const Relation features = tra::input("features", {tra::KeySet({{"q", parts}}), {n, f}});
    const Relation weights = test::dense_input("weights", {f, g});
    const Relation gathered =
        tra::aggregate(tra::contract(adjacency, features, {"m", "f"}), {"q"},
                       rng.chance(0.5) ? tra::Combine::kAdd : tra::Combine::kMax);
    const Relation out = tra::apply("tanh", tra::contract(gathered, weights, {"m", "g"}));
    const Relation loss =
        tra::aggregate(tra::mean(tra::multiply(out, out), {"m", "g"}), {"p"}, tra::Combine::kAdd);
    std::vector<Relation> roots = tra::gradients(loss, std::vector{adjacency, features, weights});
    roots.push_back(out);
    const test::Values inputs = test::random_inputs(roots, rng, -1.0, 1.0);
    expect_lowered_values(roots, inputs, test::random_sharding(roots, seed));
  }
}

TEST(LoweringProperty, TrainingOfRandomPrograms) {
  for (std::uint64_t seed = 2 * kLoweringSeeds; seed < 3 * kLoweringSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto [program, differentiable, inputs] = test::random_program(seed);
    Rng rng = Rng::stream(seed, 0x11);
    test::CompileSetup options{.train = true, .rate = 0.5};
    options.machine.devices = 1 + rng.below(8);
    if (rng.chance(0.5)) {
      options.parts.emplace();
      for (const std::string& dimension : test::working_dimensions(std::vector{*program.loss})) {
        (*options.parts)[dimension] = 1 + rng.below(5);
      }
    }
    if (rng.chance(0.3)) options.optimizer = tra::Optimizer::kAdam;
    const test::DenseTraining training(program, options.optimizer, options.rate);
    test::Values before = inputs;
    training.add_state(before);
    for (auto& [name, blocks] : before) {
      if (!name.ends_with(".second")) continue;
      // Far from zero, where the direction of a step would hang on rounding.
      for (double& v : blocks[0]) v = static_cast<float>(rng.uniform(0.5, 1.0));
    }
    test::Values after = before;
    const double loss = training.step(after);
    const compile::FoundPlan compiled = test::compile_program(program, options);
    const test::LoweredRun<float> run(compiled.lowered, before);
    EXPECT_LT(test::relative_error(run.root(0), {{loss}}, kLeast), kFloatTolerance);
    for (const auto& [name, blocks] : run.updated()) {
      EXPECT_LT(test::relative_error(blocks, after.at(name), kLeast), kFloatTolerance) << name;
    }
  }
}

}  // namespace
}  // namespace doppler
