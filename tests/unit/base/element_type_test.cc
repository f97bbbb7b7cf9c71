#include "doppler/base/element_type.h"

#include <gtest/gtest.h>

namespace doppler {
namespace {

TEST(ElementTypes, NamesComeBack) {
  for (const ElementType type : kElementTypes) {
    EXPECT_EQ(find_element_type(element_type_name(type)), type) << element_type_name(type);
  }
  EXPECT_EQ(find_element_type("float16"), ElementType::kF16);
  EXPECT_EQ(find_element_type("int8"), ElementType::kI8);
  EXPECT_FALSE(find_element_type("f17"));
  EXPECT_FALSE(find_element_type(""));
}

TEST(ElementTypes, HaveTheirSizes) {
  EXPECT_EQ(element_bytes(ElementType::kF64), 8.0);
  EXPECT_EQ(element_bytes(ElementType::kTf32), 4.0);  // rounded only on the way into a product
  EXPECT_EQ(element_bytes(ElementType::kBf16), 2.0);
  EXPECT_EQ(element_bytes(ElementType::kFp8), 1.0);
  EXPECT_EQ(element_bytes(ElementType::kI4), 0.5);
  EXPECT_TRUE(is_floating(ElementType::kFp8));
  EXPECT_FALSE(is_floating(ElementType::kBool));
}

}  // namespace
}  // namespace doppler
