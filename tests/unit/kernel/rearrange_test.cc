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

TEST(Rearrange, Permutes) {
  const KernelCall call = make_call("permute", {{"spec", "abc->cab"}}, {{1, 2, 3}});
  EXPECT_EQ(call.outputs, (std::vector<Shape>{{3, 1, 2}}));
  EXPECT_THAT(run_call<double>(call, {{0, 1, 2, 3, 4, 5}})[0], ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(run_call<double>(make_call("permute", {{"spec", "->"}}, {{}}), {{4}})[0],
              ElementsAre(4));
  EXPECT_THAT(run_call<double>(make_call("permute", {{"spec", "ab->ba"}}, {{0, 3}}), {{}})[0],
              IsEmpty());
}

TEST(Rearrange, Broadcasts) {
  const auto broadcast = [](const char* spec, const char* sizes, Shape shape) {
    return make_call("broadcast", {{"spec", spec}, {"sizes", sizes}}, {shape});
  };
  EXPECT_THAT(run_call<double>(broadcast("a->ab", "b=3", {2}), {{1, 2}})[0],
              ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(run_call<double>(broadcast("a->ba", "b=3", {2}), {{1, 2}})[0],
              ElementsAre(1, 2, 1, 2, 1, 2));
  EXPECT_THAT(run_call<double>(broadcast("->xy", "y=2,x=2", {}), {{5}})[0],
              ElementsAre(5, 5, 5, 5));
  EXPECT_THAT(run_call<double>(broadcast("ab->ba", "", {1, 2}), {{5, 6}})[0], ElementsAre(5, 6));
  EXPECT_EQ(broadcast("a->ab", "b=0", {2}).outputs[0], (Shape{2, 0}));
}

TEST(Rearrange, Fills) {
  const auto fill = [](const char* shape) {
    return make_call("fill", {{"shape", shape}, {"value", "-1.5"}}, {});
  };
  EXPECT_THAT(run_call<double>(fill("2,1"), {})[0], ElementsAre(-1.5, -1.5));
  EXPECT_THAT(run_call<double>(fill(""), {})[0], ElementsAre(-1.5));
  EXPECT_THAT(run_call<double>(fill("2,0"), {})[0], IsEmpty());
}

TEST(Rearrange, Refusals) {
  EXPECT_EQ(refusal("permute", {{"spec", "ab->a"}}, {{2, 3}}),
            "the label b must be in the output too");
  EXPECT_EQ(refusal("permute", {{"spec", "ab->abc"}}, {{2, 3}}),
            "the output's label c is in no input");
  EXPECT_EQ(refusal("permute", {{"spec", "ab->ba"}, {"sizes", ""}}, {{2, 3}}),
            "there is no attribute 'sizes'; there is spec");
  EXPECT_EQ(refusal("broadcast", {{"spec", "a->ab"}}, {{2}}),
            "the attribute 'sizes' lacks the output's label b");
  EXPECT_EQ(refusal("broadcast", {{"spec", "a->ab"}, {"sizes", "b=2,c=3"}}, {{2}}),
            "the attribute 'sizes' names c, which is not in the output");
  EXPECT_EQ(refusal("broadcast", {{"spec", "a->ab"}, {"sizes", "a=2,b=3"}}, {{2}}),
            "the attribute 'sizes' names a, which has a size already");
  EXPECT_EQ(refusal("broadcast", {{"spec", "ab->a"}}, {{2, 2}}),
            "the label b must be in the output too");
  EXPECT_EQ(refusal("broadcast", {{"spec", "a->ab"}, {"sizes", "b=500000000000000000"}}, {{2}}),
            "the output [2,500000000000000000] has more elements than can be counted");
  EXPECT_EQ(refusal("fill", {{"shape", "2,-3"}, {"value", "0"}}, {}),
            "the attribute 'shape' holds a size below 0");
  EXPECT_EQ(refusal("fill", {{"shape", "2"}, {"value", "0"}}, {{2}}), "takes 0 inputs, not 1");
  EXPECT_EQ(refusal("fill", {{"shape", "2"}}, {}), "the attribute 'value' is missing");
}

}  // namespace
}  // namespace doppler::kernel
