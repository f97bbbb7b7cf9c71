#include "doppler/kernel/call_work.h"

#include <gtest/gtest.h>

#include "doppler/base/error.h"
#include "doppler/kernel/registry.h"
#include "support/kernels.h"

namespace doppler::kernel {
namespace {

using test::make_call;
using enum WorkClass;

Work work_of_contract(const char* spec, Shape a, Shape b) {
  return work_of(make_call("contract", {{"spec", spec}}, {std::move(a), std::move(b)}));
}

Work f32_product(double batch, double rows, double columns, double depth) {
  return {.work_class = kProduct,
          .type = ElementType::kF32,
          .batch = batch,
          .rows = rows,
          .columns = columns,
          .depth = depth};
}

TEST(CallWork, AContractIsTheProductThatItsLabelsSay) {
  EXPECT_EQ(work_of_contract("ab,bc->ac", {2, 3}, {3, 5}), f32_product(1, 2, 5, 3));
  // Scores of attention: the batch and the heads are in both operands and the result.
  EXPECT_EQ(work_of_contract("bhsd,bhtd->bhst", {2, 4, 7, 8}, {2, 4, 9, 8}),
            f32_product(2 * 4, 7, 9, 8));
  // The operands' order decides which are the rows; several labels make one dimension.
  EXPECT_EQ(work_of_contract("hdo,bshd->bso", {4, 8, 6}, {2, 7, 4, 8}),
            f32_product(1, 6, 2 * 7, 4 * 8));
  // A label that only one operand has is summed like the others.
  EXPECT_EQ(work_of_contract("abx,bc->ac", {2, 3, 11}, {3, 5}), f32_product(1, 2, 5, 3 * 11));
  EXPECT_EQ(work_of_contract("ab,b->a", {2, 3}, {3}), f32_product(1, 2, 1, 3));
}

TEST(CallWork, AContractThatNeedsNoProductIsWhatItComesDownTo) {
  Work work = work_of_contract("ab,ab->ab", {2, 3}, {2, 3});
  EXPECT_EQ(work, (Work{.work_class = kElementwise, .type = ElementType::kF32}));
  EXPECT_EQ(work_of_contract("ab,->ab", {2, 3}, {}), work);
  work = work_of_contract("ab,ab->a", {2, 3}, {2, 3});
  EXPECT_EQ(work,
            (Work{.work_class = kReduction, .type = ElementType::kF32, .rows = 2, .columns = 3}));
  EXPECT_EQ(work_of_contract("ab,bc->ac", {2, 0}, {0, 5}),
            (Work{.work_class = kProduct, .type = ElementType::kF32}));
}

TEST(CallWork, AReduceHasARowForEachElementOfItsResult) {
  const Work work = work_of(make_call("reduce", {{"op", "max"}, {"spec", "abc->ac"}}, {{2, 3, 5}}));
  EXPECT_EQ(
      work,
      (Work{.work_class = kReduction, .type = ElementType::kF32, .rows = 2 * 5, .columns = 3}));
}

TEST(CallWork, OtherKernelsHaveTheirClass) {
  constexpr std::pair<const char*, WorkClass> kKernels[] = {{"add", kElementwise},
                                                            {"scale", kElementwise},
                                                            {"add_n", kElementwise},
                                                            {"max", kElementwise},
                                                            {"sgd_update", kElementwise},
                                                            {"adam_update", kActivation},
                                                            {"exp", kActivation},
                                                            {"gelu_grad2", kActivation},
                                                            {"rsqrt", kActivation},
                                                            {"rotary", kGated},
                                                            {"gather", kGather},
                                                            {"scatter_add", kGather},
                                                            {"permute", kCopy},
                                                            {"concat", kCopy},
                                                            {"slice", kCopy},
                                                            {"broadcast", kCopy},
                                                            {"a_kernel_of_somebody", kElementwise}};
  for (const auto& [name, work_class] : kKernels) {
    EXPECT_EQ(work_of({name, {}, {}, {}}),
              (Work{.work_class = work_class, .type = ElementType::kF32}))
        << name;
  }
}

TEST(CallWork, RefusesWhatTheRulesRefuse) {
  EXPECT_THROW(work_of({"contract", {{"spec", "ab,bc->ac"}}, {{2, 3}, {4, 5}}, {{2, 5}}}),
               InputError);
}

}  // namespace
}  // namespace doppler::kernel
