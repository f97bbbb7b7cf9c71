#include "doppler/kernel/rearrange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/kernels.h"

namespace doppler::kernel {
namespace {

using test::make_call;
using test::refusal;
using test::run_call;
using testing::ElementsAre;

TEST(Lookup, GathersRows) {
  const KernelCall call = make_call("gather", {{"offset", "10"}}, {{2, 3}, {2, 2}});
  EXPECT_EQ(call.outputs[0], (Shape{2, 2, 3}));
  EXPECT_THAT(run_call<double>(call, {{1, 2, 3, 4, 5, 6}, {11, 10, 9, 12}})[0],
              ElementsAre(4, 5, 6, 1, 2, 3, 0, 0, 0, 0, 0, 0));
  // A scalar index gives one row.
  EXPECT_THAT(run_call<double>(make_call("gather", {}, {{2, 3}, {}}), {{1, 2, 3, 4, 5, 6}, {1}})[0],
              ElementsAre(4, 5, 6));
}

TEST(Lookup, IndicesThatAreNoRowsGiveZeros) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const KernelCall call = make_call("gather", {}, {{1, 1}, {5}});
  EXPECT_THAT(run_call<double>(call, {{8}, {nan, inf, -inf, -1, 0}})[0],
              ElementsAre(0, 0, 0, 0, 8));
}

TEST(Lookup, BlocksOfATableSumUp) {
  Rng rng(5);
  const Shape index_shape = {4, 3};
  const auto table = test::random_values(rng, {7, 2});
  std::vector<double> index(12);
  for (double& i : index) i = rng.below(7);
  const auto whole =
      run_call<double>(make_call("gather", {}, {{7, 2}, index_shape}), {table, index});
  const auto top = run_call<double>(make_call("gather", {}, {{3, 2}, index_shape}),
                                    {{table.begin(), table.begin() + 6}, index});
  const auto rest = run_call<double>(make_call("gather", {{"offset", "3"}}, {{4, 2}, index_shape}),
                                     {{table.begin() + 6, table.end()}, index});
  for (std::size_t i = 0; i < whole[0].size(); ++i) {
    EXPECT_EQ(whole[0][i], top[0][i] + rest[0][i]);
  }
}

TEST(Lookup, ScatterAddsRows) {
  const KernelCall call = make_call("scatter_add", {{"rows", "3"}, {"offset", "1"}}, {{4}, {4, 2}});
  EXPECT_THAT(run_call<double>(call, {{1, 3, 1, 0}, {1, 2, 3, 4, 5, 6, 7, 8}})[0],
              ElementsAre(6, 8, 0, 0, 3, 4));
}

// <gather(t), v> = <t, scatter_add(v)> for any t and v, outside rows included.
TEST(Lookup, ScatterAddIsTheTransposeOfGather) {
  Rng rng(6);
  const auto table = test::random_values(rng, {5, 3}), values = test::random_values(rng, {8, 3});
  std::vector<double> index(8);
  for (double& i : index) i = static_cast<double>(rng.below(9)) - 1.0;
  const auto rows =
      run_call<double>(make_call("gather", {{"offset", "1"}}, {{5, 3}, {8}}), {table, index})[0];
  const auto sums =
      run_call<double>(make_call("scatter_add", {{"rows", "5"}, {"offset", "1"}}, {{8}, {8, 3}}),
                       {index, values})[0];
  double left = 0.0, right = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) left += rows[i] * values[i];
  for (std::size_t i = 0; i < sums.size(); ++i) right += sums[i] * table[i];
  EXPECT_NEAR(left, right, 1e-12);
}

TEST(Lookup, OfNothing) {
  EXPECT_THAT(run_call<double>(make_call("gather", {}, {{0, 2}, {1}}), {{}, {0}})[0],
              ElementsAre(0, 0));
  EXPECT_THAT(
      run_call<double>(make_call("scatter_add", {{"rows", "1"}}, {{0}, {0, 2}}), {{}, {}})[0],
      ElementsAre(0, 0));
}

TEST(Lookup, Refusals) {
  EXPECT_EQ(refusal("gather", {}, {{2}, {2}}), "the table (input 1) must have rank 2");
  EXPECT_EQ(refusal("gather", {}, {{2, 2}}), "takes 2 inputs, not 1");
  EXPECT_EQ(refusal("gather", {{"offset", "1.5"}}, {{2, 2}, {2}}),
            "the attribute 'offset' must hold integers, not '1.5'");
  const std::string values =
      "the values (input 2) must have the shape of the index (input 1) and one dimension more";
  EXPECT_EQ(refusal("scatter_add", {{"rows", "3"}}, {{2}, {2}}), values);
  EXPECT_EQ(refusal("scatter_add", {{"rows", "3"}}, {{2}, {3, 4}}), values);
  EXPECT_EQ(refusal("scatter_add", {}, {{2}, {2, 4}}), "the attribute 'rows' is missing");
  EXPECT_EQ(refusal("scatter_add", {{"rows", "-1"}}, {{2}, {2, 4}}),
            "the attribute 'rows' must not be below 0");
}

}  // namespace
}  // namespace doppler::kernel
