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

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> binary(const std::string& name, std::vector<double> a, std::vector<double> b) {
  const auto size = static_cast<std::int64_t>(a.size());
  return run_call<double>(make_call(name, {}, {{size}, {size}}), {a, b})[0];
}

TEST(Elementwise, Ops) {
  EXPECT_THAT(binary("add", {1, 2}, {3, 5}), ElementsAre(4, 7));
  EXPECT_THAT(binary("sub", {1, 2}, {3, 5}), ElementsAre(-2, -3));
  EXPECT_THAT(binary("mul", {1, 2}, {3, 5}), ElementsAre(3, 10));
  EXPECT_THAT(binary("div", {1, 2}, {4, 5}), ElementsAre(0.25, 0.4));
  EXPECT_THAT(binary("max", {1, 7}, {3, 5}), ElementsAre(3, 7));
  EXPECT_THAT(binary("equal", {1, 2}, {1, 3}), ElementsAre(1, 0));
  EXPECT_THAT(binary("greater_equal", {1, 2, 4}, {1, 3, 3}), ElementsAre(1, 0, 1));
}

TEST(Elementwise, NotANumberSpreadsThroughMax) {
  const auto result = binary("max", {kNan, 1}, {1, kNan});
  EXPECT_TRUE(std::isnan(result[0]));
  EXPECT_TRUE(std::isnan(result[1]));
}

TEST(Elementwise, Broadcasts) {
  const std::vector<double> row = {10, 20}, column = {1, 2, 3};
  const auto sub = [&](const char* spec, Shape a, Shape b) {
    return run_call<double>(make_call("sub", {{"spec", spec}}, {a, b}), {row, column})[0];
  };
  EXPECT_THAT(sub("b,a->ab", {2}, {3}), ElementsAre(9, 19, 8, 18, 7, 17));
  EXPECT_THAT(sub("b,a->ba", {2}, {3}), ElementsAre(9, 8, 7, 19, 18, 17));
  EXPECT_THAT(run_call<double>(make_call("add", {{"spec", ",->"}}, {{}, {}}), {{2}, {3}})[0],
              ElementsAre(5));
  EXPECT_THAT(run_call<double>(make_call("add", {{"spec", ",a->a"}}, {{}, {0}}), {{2}, {}})[0],
              IsEmpty());
}

TEST(Elementwise, Folds) {
  const auto three = [](const char* name) {
    return run_call<double>(make_call(name, {}, {{2, 1}, {2, 1}, {2, 1}}),
                            {{1, 6}, {2, 5}, {3, 4}})[0];
  };
  EXPECT_THAT(three("add_n"), ElementsAre(6, 15));
  EXPECT_THAT(three("max_n"), ElementsAre(3, 6));
  EXPECT_THAT(run_call<double>(make_call("add_n", {}, {{}, {}}), {{1}, {2}})[0], ElementsAre(3));
  EXPECT_THAT(run_call<double>(make_call("add_n", {}, {{0}, {0}}), {{}, {}})[0], IsEmpty());
}

TEST(Elementwise, FoldsMoreThanABlock) {
  const std::vector<double> ones(5001, 1.0);
  const auto sum =
      run_call<double>(make_call("add_n", {}, {{5001}, {5001}, {5001}}), {ones, ones, ones})[0];
  EXPECT_THAT(sum, testing::Each(3.0));
}

TEST(Elementwise, Refusals) {
  EXPECT_EQ(refusal("add", {}, {{2, 3}, {3, 2}}), "the inputs must have equal shapes");
  EXPECT_EQ(refusal("add", {}, {{2}}), "takes 2 inputs, not 1");
  EXPECT_EQ(refusal("add", {{"axis", "0"}}, {{2}, {2}}),
            "there is no attribute 'axis'; there is spec");
  EXPECT_EQ(refusal("add", {{"spec", "ab,a->a"}}, {{2, 3}, {2}}),
            "the label b must be in the output too");
  EXPECT_EQ(refusal("add", {{"spec", "a,a->ab"}}, {{2}, {2}}),
            "the output's label b is in no input");
  EXPECT_EQ(refusal("add", {{"spec", "a,a->a"}}, {{2}, {3}}),
            "the label a is 2 and also 3 (in input 2)");
  EXPECT_EQ(refusal("add_n", {}, {{2}}), "takes 2 or more inputs, not 1");
  EXPECT_EQ(refusal("max_n", {}, {{2}, {3}}), "the inputs must have equal shapes");
  EXPECT_EQ(refusal("max_n", {{"spec", "a,a->a"}}, {{2}, {2}}),
            "there is no attribute 'spec'; there are none");
}

}  // namespace
}  // namespace doppler::kernel
