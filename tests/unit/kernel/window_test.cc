#include "doppler/kernel/rearrange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/kernels.h"

namespace doppler::kernel {
namespace {

using test::make_call;
using test::refusal;
using test::run_call;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<double> kCounting = {0, 1, 2, 3, 4, 5};

TEST(Window, Slices) {
  const auto slice = [](const char* begin, const char* end) {
    return make_call("slice", {{"begin", begin}, {"end", end}}, {{2, 3}});
  };
  EXPECT_THAT(run_call<double>(slice("0,1", "2,3"), {kCounting})[0], ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(run_call<double>(slice("1,0", "2,1"), {kCounting})[0], ElementsAre(3));
  EXPECT_EQ(slice("2,3", "2,3").outputs[0], (Shape{0, 0}));
  EXPECT_THAT(run_call<double>(slice("2,3", "2,3"), {kCounting})[0], IsEmpty());
  EXPECT_THAT(run_call<double>(make_call("slice", {{"begin", ""}, {"end", ""}}, {{}}), {{7}})[0],
              ElementsAre(7));
}

TEST(Window, Pads) {
  const auto pad = [](const char* before, const char* after, Shape shape) {
    return make_call("pad", {{"before", before}, {"after", after}}, {shape});
  };
  EXPECT_THAT(run_call<double>(pad("0,1", "1,0", {1, 2}), {{8, 9}})[0],
              ElementsAre(0, 8, 9, 0, 0, 0));
  EXPECT_THAT(run_call<double>(pad("2", "1", {0}), {{}})[0], ElementsAre(0, 0, 0));
  EXPECT_THAT(run_call<double>(pad("", "", {}), {{3}})[0], ElementsAre(3));
}

TEST(Window, Concatenates) {
  const KernelCall columns = make_call("concat", {{"dim", "1"}}, {{2, 1}, {2, 0}, {2, 2}});
  EXPECT_THAT(run_call<double>(columns, {{1, 2}, {}, {3, 4, 5, 6}})[0],
              ElementsAre(1, 3, 4, 2, 5, 6));
  const KernelCall rows = make_call("concat", {{"dim", "0"}}, {{1, 2}, {2, 2}});
  EXPECT_THAT(run_call<double>(rows, {{1, 2}, {3, 4, 5, 6}})[0], ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Window, Refusals) {
  EXPECT_EQ(refusal("slice", {{"begin", "0"}, {"end", "1"}}, {{2, 3}}),
            "the attribute 'begin' has 1 numbers for 2 dimensions");
  EXPECT_EQ(refusal("slice", {{"begin", "0,0"}, {"end", "1,4"}}, {{2, 3}}),
            "0 to 4 is not a part of dimension 1");
  EXPECT_EQ(refusal("slice", {{"begin", "2,0"}, {"end", "1,3"}}, {{2, 3}}),
            "2 to 1 is not a part of dimension 0");
  EXPECT_EQ(refusal("slice", {{"begin", "-1,0"}, {"end", "1,3"}}, {{2, 3}}),
            "-1 to 1 is not a part of dimension 0");
  EXPECT_EQ(refusal("slice", {{"begin", "0,0"}}, {{2, 3}}), "the attribute 'end' is missing");
  EXPECT_EQ(refusal("pad", {{"before", "0"}, {"after", "-1"}}, {{2}}),
            "cannot pad dimension 0 by fewer than 0");
  EXPECT_EQ(refusal("pad", {{"before", "0,0"}, {"after", "0,0"}}, {{2}}),
            "the attribute 'before' has 2 numbers for 1 dimensions");
  EXPECT_EQ(refusal("concat", {{"dim", "2"}}, {{2, 3}}),
            "the attribute 'dim' is no dimension of [2,3]");
  EXPECT_EQ(refusal("concat", {{"dim", "0"}}, {}), "takes 1 or more inputs, not 0");
  EXPECT_EQ(refusal("concat", {{"dim", "0"}}, {{2, 3}, {2, 4}}),
            "inputs 1 and 2 differ in more than dimension 0");
  EXPECT_EQ(refusal("concat", {{"dim", "0"}}, {{2, 3}, {2}}),
            "inputs 1 and 2 differ in more than dimension 0");
  const std::int64_t large = std::int64_t{1} << 59;
  EXPECT_EQ(refusal("concat", {{"dim", "0"}}, {{large}, {large}}),
            "the output has more elements than can be counted");
}

}  // namespace
}  // namespace doppler::kernel
