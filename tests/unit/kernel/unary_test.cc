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
using testing::IsEmpty;

template <class T = double>
std::vector<T> apply(const std::string& name, const std::vector<T>& x, Attributes attributes = {}) {
  const auto size = static_cast<std::int64_t>(x.size());
  return run_call<T>(make_call(name, std::move(attributes), {{size}}), {x})[0];
}

// g times the derivative, for g = 1 and x.
double derivative(const std::string& name, double x, double g = 1.0) {
  return run_call<double>(make_call(name, {}, {{1}, {1}}), {{x}, {g}})[0][0];
}

const char* const kFunctions[] = {"exp",  "log",  "sqrt",    "rsqrt", "relu",
                                  "silu", "gelu", "sigmoid", "tanh",  "reciprocal"};

TEST(Unary, Values) {
  EXPECT_THAT(apply("scale", {2, -3}, {{"factor", "-0.5"}}), ElementsAre(-1, 1.5));
  EXPECT_THAT(apply("shift", {2, -3}, {{"amount", "10"}}), ElementsAre(12, 7));
  EXPECT_THAT(apply("exp", {0, 1}), ElementsAre(1, std::exp(1.0)));
  EXPECT_THAT(apply("log", {1, 2}), ElementsAre(0, std::log(2.0)));
  EXPECT_THAT(apply("sqrt", {4, 9}), ElementsAre(2, 3));
  EXPECT_THAT(apply("rsqrt", {4, 16}), ElementsAre(0.5, 0.25));
  EXPECT_THAT(apply("relu", {-4, 3, 0}), ElementsAre(0, 3, 0));
  EXPECT_THAT(apply("reciprocal", {-4, 0.5}), ElementsAre(-0.25, 2));
  EXPECT_DOUBLE_EQ(apply("sigmoid", {1.0})[0], 1.0 / (1.0 + std::exp(-1.0)));
  EXPECT_DOUBLE_EQ(apply("silu", {-2.0})[0], -2.0 / (1.0 + std::exp(2.0)));
  EXPECT_DOUBLE_EQ(apply("tanh", {0.5})[0], std::tanh(0.5));
  EXPECT_DOUBLE_EQ(apply("gelu", {1.0})[0], 0.5 * (1.0 + std::erf(std::sqrt(0.5))));
  EXPECT_THAT(apply("exp", {}), IsEmpty());
  EXPECT_THAT(run_call<double>(make_call("sqrt", {}, {{}}), {{25}})[0], ElementsAre(5));
}

TEST(Unary, FarFromZeroNothingOverflows) {
  for (const char* name : {"silu", "gelu"}) {
    EXPECT_THAT(apply<float>(name, {-200.0f, 200.0f}), ElementsAre(0.0f, 200.0f)) << name;
  }
  EXPECT_THAT(apply<float>("sigmoid", {-200.0f, 200.0f}), ElementsAre(0.0f, 1.0f));
  // 1 + erf would cancel here: 0.5 erfc(sqrt 50) = 7.6e-24.
  EXPECT_NEAR(apply("gelu", {-10.0})[0], -7.619853024160527e-23, 1e-35);
}

// At distance h central differences of f and f' are off by h^2 / 6 times the third derivative,
// which is at most about 400 (rsqrt at 0.3) on these points, and by rounding 1e-16 / h.
TEST(Unary, DerivativesAgreeWithFiniteDifferences) {
  constexpr double kStep = 1e-5;
  for (const std::string name : kFunctions) {
    const bool positive = name == "log" || name == "sqrt" || name == "rsqrt";
    for (double x = positive ? 0.3 : -3.05; x < 3.0; x += 0.17) {
      SCOPED_TRACE(name + " at " + std::to_string(x));
      if (name == "reciprocal" && std::abs(x) < 0.3) continue;
      const double by_difference =
          (apply(name, {x + kStep})[0] - apply(name, {x - kStep})[0]) / (2 * kStep);
      EXPECT_NEAR(derivative(name + "_grad", x), by_difference, 1e-6);
      EXPECT_NEAR(derivative(name + "_grad", x, -2.5), -2.5 * by_difference, 1e-6);
      const double second =
          (derivative(name + "_grad", x + kStep) - derivative(name + "_grad", x - kStep)) /
          (2 * kStep);
      EXPECT_NEAR(derivative(name + "_grad2", x), second, 1e-6);
      EXPECT_NEAR(derivative(name + "_grad2", x, 3.0), 3.0 * second, 3e-6);
    }
  }
}

TEST(Unary, FloatFollowsDouble) {
  Rng rng(3);
  for (const std::string name : kFunctions) {
    for (const char* suffix : {"", "_grad", "_grad2"}) {
      const bool two = *suffix != 0;
      const KernelCall call = make_call(
          name + suffix, {}, two ? std::vector<Shape>{{7, 3}, {7, 3}} : std::vector<Shape>{{7, 3}});
      std::vector<std::vector<double>> inputs = {test::random_values(rng, {7, 3}, 0.5, 3.0)};
      if (two) inputs.push_back(test::random_values(rng, {7, 3}));
      std::vector<std::vector<float>> rounded;
      for (auto& input : inputs) {
        rounded.push_back(test::to_float(input));
        input.assign(rounded.back().begin(), rounded.back().end());
      }
      const auto exact = run_call(call, inputs)[0];
      const auto result = run_call(call, rounded)[0];
      for (std::size_t i = 0; i < exact.size(); ++i) {
        EXPECT_NEAR(result[i], exact[i], 1e-5 * (1.0 + std::abs(exact[i]))) << name << suffix;
      }
    }
  }
}

TEST(Unary, Refusals) {
  EXPECT_EQ(refusal("scale", {}, {{2}}), "the attribute 'factor' is missing");
  EXPECT_EQ(refusal("shift", {{"factor", "2"}}, {{2}}), "the attribute 'amount' is missing");
  EXPECT_EQ(refusal("scale", {{"factor", "2"}, {"amount", "2"}}, {{2}}),
            "there is no attribute 'amount'; there is factor");
  EXPECT_EQ(refusal("scale", {{"factor", "x"}}, {{2}}),
            "the attribute 'factor' must be a finite number, not 'x'");
  EXPECT_EQ(refusal("exp", {}, {}), "takes 1 input, not 0");
  EXPECT_EQ(refusal("exp", {}, {{2}, {2}}), "takes 1 input, not 2");
  EXPECT_EQ(refusal("exp_grad", {}, {{2}}), "takes 2 inputs, not 1");
  EXPECT_EQ(refusal("exp_grad2", {}, {{2}, {3}}), "the inputs must have equal shapes");
  EXPECT_EQ(refusal("scale_grad", {}, {{2}}).substr(0, 27), "unknown kernel 'scale_grad'");
}

}  // namespace
}  // namespace doppler::kernel
