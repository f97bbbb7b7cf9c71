#include "doppler/kernel/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/kernels.h"

namespace doppler::kernel {
namespace {

using test::make_call;
using test::refusal;
using test::run_call;
using testing::ElementsAre;

const Attributes kAdam = {
    {"rate", "0.1"}, {"beta1", "0.9"}, {"beta2", "0.99"}, {"epsilon", "1e-8"}};

KernelCall adam_call(const Shape& shape) {
  return make_call("adam_update", kAdam, {shape, shape, shape, shape, {}});
}

TEST(Update, Sgd) {
  const KernelCall call = make_call("sgd_update", {{"rate", "0.5"}}, {{2}, {2}});
  EXPECT_THAT(run_call<double>(call, {{1, 2}, {4, -6}})[0], ElementsAre(-1, 5));
}

TEST(Update, AdamOverSeveralSteps) {
  double parameter = 1.0, first = 0.0, second = 0.0;
  std::vector<std::vector<double>> state = {{1.0}, {0.0}, {0.0}};
  for (int step = 1; step <= 5; ++step) {
    const double gradient = std::sin(static_cast<double>(step));
    first = 0.9 * first + 0.1 * gradient;
    second = 0.99 * second + 0.01 * gradient * gradient;
    const double first_hat = first / (1.0 - std::pow(0.9, step));
    const double second_hat = second / (1.0 - std::pow(0.99, step));
    parameter -= 0.1 * first_hat / (std::sqrt(second_hat) + 1e-8);
    state = run_call<double>(adam_call({1}),
                             {state[0], {gradient}, state[1], state[2], {double(step)}});
    EXPECT_NEAR(state[0][0], parameter, 1e-12);
    EXPECT_NEAR(state[1][0], first, 1e-12);
    EXPECT_NEAR(state[2][0], second, 1e-12);
  }
}

TEST(Update, MayWriteInPlace) {
  const std::vector<double> gradient = {0.5, -2.0}, step = {3.0};
  std::vector<double> parameter = {1, 2}, first = {0.1, 0.2}, second = {0.3, 0.4};
  const auto apart = run_call<double>(adam_call({2}), {parameter, gradient, first, second, step});
  const std::vector<const double*> inputs = {parameter.data(), gradient.data(), first.data(),
                                             second.data(), step.data()};
  const std::vector<double*> outputs = {parameter.data(), first.data(), second.data()};
  cpu::bind<double>(adam_call({2}))->run(inputs, outputs);
  EXPECT_EQ(parameter, apart[0]);
  EXPECT_EQ(first, apart[1]);
  EXPECT_EQ(second, apart[2]);
}

TEST(Update, Refusals) {
  EXPECT_EQ(refusal("sgd_update", {}, {{2}, {2}}), "the attribute 'rate' is missing");
  EXPECT_EQ(refusal("sgd_update", {{"rate", "1"}}, {{2}, {3}}),
            "the inputs must have equal shapes");
  EXPECT_EQ(refusal("adam_update", kAdam, {{2}, {2}, {2}, {2}}), "takes 5 inputs, not 4");
  EXPECT_EQ(refusal("adam_update", kAdam, {{2}, {2}, {3}, {2}, {}}),
            "parameter, gradient and moments (inputs 1 to 4) must have equal shapes");
  EXPECT_EQ(refusal("adam_update", kAdam, {{2}, {2}, {2}, {2}, {1}}),
            "the step (input 5) must have rank 0");
  Attributes attributes = kAdam;
  attributes[1].second = "1";
  EXPECT_EQ(refusal("adam_update", attributes, {{2}, {2}, {2}, {2}, {}}),
            "the attribute 'beta1' must be at least 0 and below 1");
  attributes = kAdam;
  attributes[3].second = "-1";
  EXPECT_EQ(refusal("adam_update", attributes, {{2}, {2}, {2}, {2}, {}}),
            "the attribute 'epsilon' must not be below 0");
  attributes.pop_back();
  EXPECT_EQ(refusal("adam_update", attributes, {{2}, {2}, {2}, {2}, {}}),
            "the attribute 'epsilon' is missing");
}

}  // namespace
}  // namespace doppler::kernel
