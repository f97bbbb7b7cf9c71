#include "doppler/kernel/kernel_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"

namespace doppler::kernel {
namespace {

using test::error_of;
using testing::HasSubstr;

// What reading an attribute "x" with this text complains about.
template <class Read>
std::string error_reading(const std::string& text, const Read& read) {
  const Attributes attributes = {{"x", text}};
  CallReader reader("k", attributes, {});
  const std::string error = error_of([&] { read(reader); });
  const std::string start = "kernel k {x=" + text + "} of no inputs: ";
  return error.starts_with(start) ? error.substr(start.size()) : error;
}

TEST(CallReader, ReadsValues) {
  const Attributes attributes = {{"n", "-2.5e3"}, {"i", "-7"}, {"list", "1,-2,3"},
                                 {"none", ""},    {"f", "1"},  {"sizes", "b=16,Z=0"}};
  CallReader reader("k", attributes, {});
  EXPECT_EQ(reader.number("n"), -2500.0);
  EXPECT_EQ(reader.number("absent", 3.0), 3.0);
  EXPECT_EQ(reader.integer("i"), -7);
  EXPECT_EQ(reader.integer("absent", 4), 4);
  EXPECT_THAT(reader.integers("list"), testing::ElementsAre(1, -2, 3));
  EXPECT_THAT(reader.integers("none"), testing::ElementsAre());
  EXPECT_TRUE(reader.flag("f", false));
  EXPECT_FALSE(reader.flag("absent", false));
  EXPECT_THAT(reader.label_sizes("sizes"),
              testing::ElementsAre(std::pair('b', 16), std::pair('Z', 0)));
  EXPECT_EQ(reader.optional_text("absent"), std::nullopt);
  EXPECT_NO_THROW(reader.finish({}));
}

TEST(CallReader, RefusesValuesOfAnotherKind) {
  const auto number = [](CallReader& reader) { reader.number("x"); };
  for (const char* text : {"", "one", "1.0f", "1 ", "inf", "nan", "1e999"}) {
    EXPECT_EQ(error_reading(text, number),
              "the attribute 'x' must be a finite number, not '" + std::string(text) + "'");
  }
  const auto integer = [](CallReader& reader) { reader.integer("x"); };
  for (const char* text : {"", "one", "1.5", "+1"}) {
    EXPECT_EQ(error_reading(text, integer),
              "the attribute 'x' must hold integers, not '" + std::string(text) + "'");
  }
  for (const char* text : {"99999999999999999999", "-576460752303423489"}) {  // -2^59 - 1
    EXPECT_EQ(error_reading(text, integer),
              "the attribute 'x' is out of range: '" + std::string(text) + "'");
  }
  const auto integers = [](CallReader& reader) { reader.integers("x"); };
  for (const char* text : {"1,", ",1", "1,,2"}) {
    EXPECT_EQ(error_reading(text, integers), "the attribute 'x' must hold integers, not ''");
  }
  EXPECT_EQ(error_reading("yes", [](CallReader& reader) { reader.flag("x", false); }),
            "the attribute 'x' must be 0 or 1, not 'yes'");
  const auto sizes = [](CallReader& reader) { reader.label_sizes("x"); };
  EXPECT_EQ(error_reading("b:3", sizes), "the attribute 'x' must be like b=16,c=4, not 'b:3'");
  EXPECT_EQ(error_reading("b=-3", sizes), "the attribute 'x' holds a size below 0");
  EXPECT_EQ(error_reading("b=x", sizes), "the attribute 'x' must hold integers, not 'x'");
  const auto dimension = [](CallReader& reader) { reader.dimension("x", {2, 3}); };
  for (const char* text : {"2", "-1"}) {
    EXPECT_EQ(error_reading(text, dimension), "the attribute 'x' is no dimension of [2,3]");
  }
}

TEST(CallReader, RefusesMissingRepeatedAndUnknownAttributes) {
  const Attributes none, twice = {{"x", "1"}, {"x", "1"}}, one = {{"x", "1"}};
  const auto make = [](const Attributes& attributes) { return CallReader("k", attributes, {}); };
  EXPECT_EQ(error_of([&] { make(none).integer("x"); }),
            "kernel k of no inputs: the attribute 'x' is missing");
  EXPECT_EQ(error_of([&] { make(twice); }),
            "kernel k {x=1, x=1} of no inputs: the attribute 'x' stands twice");
  EXPECT_EQ(error_of([&] { make(one).finish({}); }),
            "kernel k {x=1} of no inputs: there is no attribute 'x'; there are none");
  EXPECT_EQ(error_of([&] {
              CallReader reader = make(one);
              reader.integer("y", 0);
              reader.flag("z", false);
              reader.finish({});
            }),
            "kernel k {x=1} of no inputs: there is no attribute 'x'; there are y, z");
}

TEST(CallReader, RefusesShapesThatCannotBeCounted) {
  const Attributes none;
  const auto error = [&](std::vector<Shape> inputs) {
    return error_of([&] { CallReader("k", none, inputs); });
  };
  EXPECT_EQ(error({{2}, {2, -1}}), "kernel k of [2], [2,-1]: input 2 has a size below 0");
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_THAT(error({{large, large}}), HasSubstr("input 1 has more elements than can be counted"));
  // Also where nothing is in it: its strides could not be counted either.
  EXPECT_THAT(error({{0, large, large}}),
              HasSubstr("input 1 has more elements than can be counted"));
  EXPECT_EQ(error({{0, large}}), "no error");
  const std::vector<Shape> one = {{2}}, outputs = {{large, large}};
  EXPECT_THAT(error_of([&] { CallReader("k", none, one).finish(outputs); }),
              HasSubstr("has more elements than can be counted"));
}

TEST(CallReader, LongCallsAreCutInMessages) {
  const Attributes attributes = {{"x", std::string(1000, 'y')}};
  const std::vector<Shape> inputs(100, Shape{2});
  const std::string error = error_of([&] { CallReader("k", attributes, inputs).expect_inputs(1); });
  EXPECT_THAT(error, HasSubstr("… (100 in all): takes 1 input, not 100"));
  EXPECT_LT(error.size(), 250u);
}

}  // namespace
}  // namespace doppler::kernel
