#include "doppler/kernel/einsum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"

namespace doppler::kernel {
namespace {

using testing::ElementsAre;

EinsumSpec parse(const std::string& spec, std::vector<Shape> inputs) {
  const Attributes attributes = {{"spec", spec}};
  CallReader reader("k", attributes, inputs);
  return read_einsum_spec(reader);
}

std::string error(const std::string& spec, std::vector<Shape> inputs) {
  return test::error_of([&] { parse(spec, inputs); });
}

TEST(EinsumSpec, LabelsAndTheirSizes) {
  const EinsumSpec spec = parse("aB,Bc->ca", {{2, 3}, {3, 4}});
  EXPECT_THAT(spec.inputs, ElementsAre("aB", "Bc"));
  EXPECT_EQ(spec.output, "ca");
  EXPECT_EQ(spec.sizes['B'], 3);
  EXPECT_FALSE(spec.sizes.has('b'));
  EXPECT_EQ(spec.sizes.shape("cBa"), (Shape{4, 3, 2}));
}

TEST(EinsumSpec, ScalarsHaveNoLabels) {
  EXPECT_THAT(parse("->", {{}}).inputs, ElementsAre(""));
  EXPECT_THAT(parse(",ab->ab", {{}, {2, 3}}).inputs, ElementsAre("", "ab"));
  EXPECT_THAT(parse("a,->a", {{2}, {}}).inputs, ElementsAre("a", ""));
}

TEST(EinsumSpec, StridesAlongLabels) {
  const EinsumSpec spec = parse("abc->", {{2, 3, 4}});
  EXPECT_THAT(strides_along("cxab", "abc", spec.sizes), ElementsAre(1, 0, 12, 4));
}

TEST(EinsumSpec, RefusalsShowTheSpecAndTheShapes) {
  EXPECT_EQ(error("ab,bc->ac", {{2, 3}, {4, 5}}),
            "kernel k {spec=ab,bc->ac} of [2,3], [4,5]: the label b is 3 and also 4 (in input 2)");
  EXPECT_EQ(error("ab", {{2, 3}}),
            "kernel k {spec=ab} of [2,3]: the spec must be like ab,bc->ac: '->' is missing");
  EXPECT_EQ(error("a b->a", {{2, 3}}),
            "kernel k {spec=a b->a} of [2,3]: the spec must be like ab,bc->ac, with letters as "
            "labels");
  EXPECT_EQ(error("ab->a->b", {{2, 3}}),
            "kernel k {spec=ab->a->b} of [2,3]: the spec must be like ab,bc->ac, with letters as "
            "labels");
  EXPECT_EQ(error("aa->a", {{2, 2}}),
            "kernel k {spec=aa->a} of [2,2]: the label a stands twice in 'aa'");
  EXPECT_EQ(error("ab->aba", {{2, 3}}),
            "kernel k {spec=ab->aba} of [2,3]: the label a stands twice in 'aba'");
  EXPECT_EQ(error("a,b->ab", {{2}}),
            "kernel k {spec=a,b->ab} of [2]: the spec has 2 operands, not 1");
  EXPECT_EQ(error("a->a", {{2, 3}}),
            "kernel k {spec=a->a} of [2,3]: 'a' has 1 label, but input 1 has rank 2");
}

}  // namespace
}  // namespace doppler::kernel
