#include "doppler/kernel/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/kernel/cpu/runnable.h"
#include "support/errors.h"
#include "support/kernels.h"

namespace doppler::kernel {
namespace {

using test::error_of;
using test::make_call;

TEST(Registry, NamesAreUniqueAndFound) {
  const Registry registry = default_kernels();
  const auto names = registry.names();
  EXPECT_THAT(names, testing::IsSupersetOf({"contract", "add", "add_n", "silu", "silu_grad",
                                            "silu_grad2", "reduce", "adam_update"}));
  for (const std::string& name : names) {
    EXPECT_EQ(registry.at(name).name(), name);
    EXPECT_FALSE(registry.at(name).summary().empty()) << name;
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
  EXPECT_EQ(registry.find("contrac"), nullptr);
}

TEST(Registry, UnknownNamesAreAnsweredWithTheClosest) {
  const std::string message = "unknown kernel 'contrac'; closest: contract, concat, log_grad";
  EXPECT_EQ(error_of([] { default_kernels().at("contrac"); }), message);
  EXPECT_EQ(error_of([] { default_kernels().check({"contrac", {}, {}, {}}); }), message);
  EXPECT_EQ(error_of([] { cpu::bind<float>({"contrac", {}, {}, {}}); }), message);
}

TEST(Registry, ChecksTheOutputsOfACall) {
  const Registry registry = default_kernels();
  KernelCall call = make_call("contract", {{"spec", "ab,bc->ac"}}, {{2, 3}, {3, 4}});
  EXPECT_NO_THROW(registry.check(call));
  call.outputs = {{4, 2}};
  const std::string message =
      "kernel contract {spec=ab,bc->ac} of [2,3], [3,4]: gives [2,4], not [4,2]";
  EXPECT_EQ(error_of([&] { registry.check(call); }), message);
  EXPECT_EQ(error_of([&] { cpu::bind<float>(call); }), message);
  call.outputs = {};
  EXPECT_EQ(error_of([&] { registry.check(call); }),
            "kernel contract {spec=ab,bc->ac} of [2,3], [3,4]: gives [2,4], not nothing");
}

TEST(Registry, BindRefusesWhatTheRulesRefuse) {
  EXPECT_EQ(error_of([] {
              cpu::bind<float>({"relu", {{"slope", "0"}}, {{2}}, {{2}}});
            }),
            "kernel relu {slope=0} of [2]: there is no attribute 'slope'; there are none");
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_THAT(
      error_of([&] {
        cpu::bind<float>({"contract", {{"spec", "a,b->ab"}}, {{large}, {large}}, {{large, large}}});
      }),
      testing::HasSubstr("has more elements than can be counted"));
}

// Flops and bytes of one call of each kind, as docs/kernels.md has them.
TEST(Registry, CountsWorkAndTraffic) {
  struct Case {
    KernelCall call;
    double flops, read, written;  // the last two in elements
  };
  const Case cases[] = {
      // Labels b 2, s 3, d 4, f 5: 2 * 120.
      {make_call("contract", {{"spec", "bsd,df->bsf"}}, {{2, 3, 4}, {4, 5}}), 240, 44, 30},
      // The label x of one operand only counts too: 2 * (2 * 3).
      {make_call("contract", {{"spec", "ax,->a"}}, {{2, 3}, {}}), 12, 7, 2},
      {make_call("add", {{"spec", "ab,a->ab"}}, {{2, 3}, {2}}), 6, 8, 6},
      {make_call("add_n", {}, {{2, 3}, {2, 3}, {2, 3}}), 12, 18, 6},
      {make_call("scale", {{"factor", "2"}}, {{2, 3}}), 6, 6, 6},
      {make_call("exp", {}, {{2, 3}}), 6, 6, 6},
      {make_call("exp_grad", {}, {{2, 3}, {2, 3}}), 12, 12, 6},
      {make_call("reduce", {{"op", "sum"}, {"spec", "ab->a"}}, {{2, 3}}), 6, 6, 2},
      {make_call("permute", {{"spec", "ab->ba"}}, {{2, 3}}), 0, 6, 6},
      {make_call("broadcast", {{"spec", "a->ab"}, {"sizes", "b=4"}}, {{2}}), 0, 2, 8},
      {make_call("fill", {{"shape", "2,3"}, {"value", "1"}}, {}), 0, 0, 6},
      {make_call("slice", {{"begin", "1"}, {"end", "3"}}, {{9}}), 0, 2, 2},
      {make_call("pad", {{"before", "1"}, {"after", "0"}}, {{9}}), 0, 9, 10},
      {make_call("concat", {{"dim", "0"}}, {{2}, {3}}), 0, 5, 5},
      {make_call("rotary", {{"position", "0"}}, {{2, 4}}), 24, 8, 8},
      {make_call("masked_fill", {{"rows", "0"}, {"columns", "1"}, {"value", "0"}}, {{2, 3}}), 0, 6,
       6},
      // Only the rows that are asked for are read: 3 indices and 3 rows of 4.
      {make_call("gather", {}, {{100, 4}, {3}}), 0, 15, 12},
      {make_call("scatter_add", {{"rows", "100"}}, {{3}, {3, 4}}), 12, 15, 400},
      {make_call("sgd_update", {{"rate", "1"}}, {{5}, {5}}), 10, 10, 5},
      {make_call("adam_update",
                 {{"rate", "1"}, {"beta1", "0.9"}, {"beta2", "0.9"}, {"epsilon", "0"}},
                 {{5}, {5}, {5}, {5}, {}}),
       70, 21, 15},
  };
  const Registry registry = default_kernels();
  for (const Case& test : cases) {
    const Kernel& kernel = registry.at(test.call.name);
    EXPECT_EQ(kernel.flops(test.call), test.flops) << test.call.name;
    EXPECT_EQ(kernel.bytes_read(test.call), 4 * test.read) << test.call.name;
    EXPECT_EQ(kernel.bytes_written(test.call), 4 * test.written) << test.call.name;
  }
}

TEST(Registry, FlopsDoNotOverflow) {
  const std::int64_t large = std::int64_t{1} << 29;
  const KernelCall call =
      make_call("contract", {{"spec", "ab,bc->ac"}}, {{large, large}, {large, large}});
  EXPECT_EQ(default_kernels().at("contract").flops(call), 0x1p88);  // 2 * 2^(3 * 29)
}

}  // namespace
}  // namespace doppler::kernel
