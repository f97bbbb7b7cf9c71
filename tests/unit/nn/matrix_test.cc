#include "doppler/nn/matrix.h"

#include <gtest/gtest.h>

#include <vector>

#include "doppler/base/rng.h"

namespace doppler::nn {
namespace {

// Narrow and wide matrices are gone through in different orders, with different numbers of rows
// together; each sum must be the one that three plain loops give, to the last bit.
TEST(AddProduct, AddsUpInTheOrderOfTheInnerIndexWhateverTheShape) {
  for (const std::size_t columns : {1, 7, 8, 23, 2047, 2048, 2055}) {
    for (const std::size_t rows : {1, 2, 3, 4, 5, 11}) {
      for (const std::size_t inner : {1, 7, 8, 9, 20}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << inner << " x " << columns);
        Rng rng(rows * 1000 + inner);
        const auto numbers = [&](std::size_t count) {
          std::vector<float> values(count);
          for (float& value : values) value = static_cast<float>(rng.uniform() - 0.5);
          return values;
        };
        // The left factor lies column after column.
        const std::vector<float> left = numbers(rows * inner), right = numbers(inner * columns);
        std::vector<float> sums = numbers(rows * columns), expected = sums;
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t k = 0; k < inner; ++k) {
            for (std::size_t c = 0; c < columns; ++c) {
              expected[r * columns + c] += left[k * rows + r] * right[k * columns + c];
            }
          }
        }
        add_product<float>(rows, inner, columns, {left.data(), 1, rows}, right.data(), sums.data());
        EXPECT_EQ(sums, expected);
      }
    }
  }
}

}  // namespace
}  // namespace doppler::nn
