// Gradients of random programs and of these gradients, along random directions: what they predict
// is what the central difference of the interpreted loss shows.
#include "doppler/tra/program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "doppler/tra/operations.h"
#include "support/random_programs.h"

namespace doppler {
namespace {

using tra::Relation;

constexpr std::uint64_t kGradientSeeds = 200;

// At distance h the difference is off by h^2 / 6 times a third derivative and by rounding, 1e-16
// / h; both are far below the tolerance for values near one.
constexpr double kStep = 1e-5, kTolerance = 1e-6;

double value(const Relation& loss, const test::Values& inputs) {
  return tra::interpret(std::span(&loss, 1), inputs)[0][0][0];
}

void expect_slope(const Relation& loss, const std::vector<Relation>& wrt,
                  const test::Values& inputs, Rng& rng) {
  const std::vector<tra::Blocks> gradients = tra::interpret(tra::gradients(loss, wrt), inputs);
  test::Values up = inputs, down = inputs;
  double predicted = 0.0, magnitude = 1.0;
  for (std::size_t w = 0; w < wrt.size(); ++w) {
    ASSERT_EQ(gradients[w][0].size(), inputs.at(wrt[w]->name)[0].size());
    for (std::size_t i = 0; i < gradients[w][0].size(); ++i) {
      const double direction = rng.uniform(-1.0, 1.0);
      predicted += direction * gradients[w][0][i];
      magnitude += std::abs(direction * gradients[w][0][i]);
      up.at(wrt[w]->name)[0][i] += kStep * direction;
      down.at(wrt[w]->name)[0][i] -= kStep * direction;
    }
  }
  const double found = (value(loss, up) - value(loss, down)) / (2 * kStep);
  EXPECT_NEAR(predicted, found, kTolerance * magnitude);
}

TEST(GradientProperty, RandomPrograms) {
  for (std::uint64_t seed = 0; seed < kGradientSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto [program, differentiable, inputs] = test::random_program(seed);
    Rng rng = Rng::stream(seed, 0x31);
    expect_slope(*program.loss, differentiable, inputs, rng);
  }
}

// The algebra is closed: a gradient is an expression like any other.
TEST(GradientProperty, GradientsOfGradients) {
  for (std::uint64_t seed = kGradientSeeds; seed < 2 * kGradientSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto [program, differentiable, inputs] = test::random_program(seed);
    Rng rng = Rng::stream(seed, 0x32);
    const Relation& wrt = program.parameters[0];
    const Relation gradient = tra::gradients(*program.loss, std::span(&wrt, 1))[0];
    const Relation squares =
        tra::sum(tra::multiply(gradient, gradient), tra::names(gradient->type.dimensions));
    expect_slope(squares, differentiable, inputs, rng);
  }
}

}  // namespace
}  // namespace doppler
