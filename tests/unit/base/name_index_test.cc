#include "doppler/base/names.h"

#include <gtest/gtest.h>

namespace doppler {
namespace {

TEST(NameIndex, NumbersNamesByFirstAppearance) {
  NameIndex index;
  EXPECT_FALSE(index.find("a"));
  EXPECT_EQ(index.add("a").number, 0u);
  EXPECT_EQ(index.add("").number, 1u);
  const auto again = index.add("a");
  EXPECT_EQ(again.number, 0u);
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(index.find(""), 1u);
  EXPECT_FALSE(index.find("b"));
  EXPECT_EQ(index.name(0), "a");
  EXPECT_EQ(index.name(1), "");
}

TEST(NameIndex, KeepsNumbersWhileItGrows) {
  NameIndex index;
  for (std::uint32_t i = 0; i < 10000; ++i) EXPECT_EQ(index.add(std::to_string(i)).number, i);
  EXPECT_EQ(index.size(), 10000u);
  for (std::uint32_t i = 0; i < 10000; ++i) {
    EXPECT_EQ(index.find(std::to_string(i)), i);
    EXPECT_EQ(index.name(i), std::to_string(i));
  }
}

}  // namespace
}  // namespace doppler
