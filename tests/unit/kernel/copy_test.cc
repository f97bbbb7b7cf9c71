#include "doppler/kernel/cpu/strided_copy.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <vector>

namespace doppler::kernel::cpu {
namespace {

template <class T>
class Copy : public ::testing::Test {};
using Elements = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Copy, Elements);

// Every length around the borders between ways of copying, at several alignments of both sides;
// nothing before or after the target changes.
TYPED_TEST(Copy, CopiesWhatItIsToldToAndNothingElse) {
  std::vector<std::size_t> counts;
  for (std::size_t count = 0; count < 80; ++count) counts.push_back(count);
  for (std::size_t count = 1000 / sizeof(TypeParam); count < 1200 / sizeof(TypeParam); ++count) {
    counts.push_back(count);
  }
  counts.push_back(50'001);
  for (const std::size_t count : counts) {
    for (const std::size_t from : {0, 1, 3}) {
      for (const std::size_t to : {0, 1, 2, 7}) {
        std::vector<TypeParam> source(from + count);
        std::iota(source.begin(), source.end(), TypeParam{1});
        std::vector<TypeParam> target(to + count + 5, TypeParam{-1});
        std::vector<TypeParam> expected = target;
        for (std::size_t i = 0; i < count; ++i) expected[to + i] = source[from + i];
        copy_elements(source.data() + from, target.data() + to, count);
        ASSERT_EQ(target, expected) << count << " elements, " << from << ", " << to;
      }
    }
  }
}

}  // namespace
}  // namespace doppler::kernel::cpu
