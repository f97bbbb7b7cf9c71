#include "doppler/kernel/rearrange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/kernels.h"

namespace doppler::kernel {
namespace {

using test::make_call;
using test::refusal;
using test::run_call;

TEST(MaskedFill, ReplacesColumnsAfterTheRow) {
  const KernelCall call =
      make_call("masked_fill", {{"rows", "0"}, {"columns", "1"}, {"value", "-9"}}, {{2, 3}});
  EXPECT_THAT(run_call<double>(call, {{1, 2, 3, 4, 5, 6}})[0],
              testing::ElementsAre(1, -9, -9, 4, 5, -9));
}

TEST(MaskedFill, AnyDimensionsAndOffsets) {
  Rng rng(4);
  for (int round = 0; round < 50; ++round) {
    const Shape shape = {1 + rng.below(3), rng.below(5), 1 + rng.below(4)};
    const auto rows = rng.below(3), columns = (rows + 1 + rng.below(2)) % 3;
    const std::int64_t row_offset = rng.below(9), column_offset = rng.below(9);
    const KernelCall call = make_call("masked_fill",
                                      {{"rows", std::to_string(rows)},
                                       {"columns", std::to_string(columns)},
                                       {"row_offset", std::to_string(row_offset)},
                                       {"column_offset", std::to_string(column_offset)},
                                       {"value", "7"}},
                                      {shape});
    const auto x = test::random_values(rng, shape);
    const auto y = run_call<double>(call, {x})[0];
    test::for_each_index(shape, [&](const Shape& index) {
      const bool masked = column_offset + index[columns] > row_offset + index[rows];
      const std::size_t at = test::position(shape, index);
      EXPECT_EQ(y[at], masked ? 7.0 : x[at]) << "round " << round;
    });
  }
}

TEST(MaskedFill, Refusals) {
  EXPECT_EQ(refusal("masked_fill", {{"rows", "1"}, {"columns", "1"}, {"value", "0"}}, {{2, 3}}),
            "the attributes 'rows' and 'columns' name the same dimension");
  EXPECT_EQ(refusal("masked_fill", {{"rows", "0"}, {"columns", "2"}, {"value", "0"}}, {{2, 3}}),
            "the attribute 'columns' is no dimension of [2,3]");
  EXPECT_EQ(refusal("masked_fill", {{"rows", "0"}, {"columns", "1"}}, {{2, 3}}),
            "the attribute 'value' is missing");
  EXPECT_EQ(refusal("masked_fill", {{"rows", "0"}, {"columns", "1"}, {"value", "-inf"}}, {{2, 3}}),
            "the attribute 'value' must be a finite number, not '-inf'");
}

}  // namespace
}  // namespace doppler::kernel
