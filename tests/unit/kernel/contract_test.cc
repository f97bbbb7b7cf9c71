#include "doppler/kernel/einsum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "doppler/kernel/cpu/contract_plan.h"
#include "support/kernels.h"

namespace doppler::kernel {
namespace {

using test::make_call;
using test::refusal;
using test::run_call;
using testing::ElementsAre;

std::vector<double> contract(const char* spec, Shape a, Shape b, const std::vector<double>& x,
                             const std::vector<double>& y) {
  return run_call<double>(make_call("contract", {{"spec", spec}}, {a, b}), {x, y})[0];
}

cpu::ContractPlan plan(const char* spec, std::vector<Shape> inputs) {
  const Attributes attributes = {{"spec", spec}};
  CallReader reader("contract", attributes, inputs);
  return cpu::plan_contract(parse_contract(reader).spec);
}

TEST(Contract, SmallCases) {
  const std::vector<double> x = {1, 2, 3, 4}, y = {5, 6, 7, 8};
  EXPECT_THAT(contract("ab,bc->ac", {2, 2}, {2, 2}, x, y), ElementsAre(19, 22, 43, 50));
  EXPECT_THAT(contract("ab,bc->ca", {2, 2}, {2, 2}, x, y), ElementsAre(19, 43, 22, 50));
  EXPECT_THAT(contract("ba,cb->ac", {2, 2}, {2, 2}, x, y), ElementsAre(23, 31, 34, 46));
  EXPECT_THAT(contract("ab,ab->ab", {2, 2}, {2, 2}, x, y), ElementsAre(5, 12, 21, 32));
  EXPECT_THAT(contract("ab,ab->", {2, 2}, {2, 2}, x, y), ElementsAre(70));
  EXPECT_THAT(contract("ab,->ab", {2, 2}, {}, x, {2}), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(contract("ab,c->a", {2, 2}, {4}, x, y), ElementsAre(3 * 26, 7 * 26));
  EXPECT_THAT(contract(",->", {}, {}, {3}, {4}), ElementsAre(12));
}

// By loops whose innermost one goes along the rows of both operands, whatever is summed.
TEST(Contract, ProductsElementByElementAreSummedEitherWay) {
  constexpr std::int64_t kRows = 3, kColumns = 19;
  std::vector<double> x, y, by_row(kRows, 0.0), by_column(kColumns, 0.0);
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
    x.push_back(static_cast<double>(i % 7));
    y.push_back(static_cast<double>(i % 5));
    by_row[i / kColumns] += x.back() * y.back();
    by_column[i % kColumns] += x.back() * y.back();
  }
  const Shape shape = {kRows, kColumns};
  EXPECT_EQ(contract("ab,ab->a", shape, shape, x, y), by_row);
  EXPECT_EQ(contract("ab,ab->b", shape, shape, x, y), by_column);
  for (const char* spec : {"ab,ab->a", "ab,ab->b"}) {
    const cpu::ContractPlan chosen = plan(spec, {shape, shape});
    EXPECT_TRUE(chosen.by_loops) << spec;
    EXPECT_EQ(chosen.loops.loops().back().size, kColumns) << spec;
  }
}

TEST(Contract, SumsOverNothingAreZero) {
  EXPECT_THAT(contract("ab,bc->ac", {2, 0}, {0, 1}, {}, {}), ElementsAre(0, 0));
  EXPECT_THAT(contract("ab,bc->ac", {0, 2}, {2, 1}, {}, {1, 2}), ElementsAre());
}

TEST(Contract, Refusals) {
  EXPECT_EQ(refusal("contract", {}, {{2, 3}, {3, 4}}), "the attribute 'spec' is missing");
  EXPECT_EQ(refusal("contract", {{"spec", "ab->a"}}, {{2, 3}}), "takes 2 inputs, not 1");
  EXPECT_EQ(refusal("contract", {{"spec", "ab,bc->ad"}}, {{2, 3}, {3, 4}}),
            "the output's label d is in no input");
  EXPECT_EQ(refusal("contract", {{"spec", "ab,bc->ac"}, {"alpha", "2"}}, {{2, 3}, {3, 4}}),
            "there is no attribute 'alpha'; there is spec");
}

bool copies(const cpu::ContractPlan& plan) {
  return plan.gemm_a != plan.a || plan.gemm_b != plan.b || plan.gemm_out != plan.out;
}

// What models are made of runs as matrix products on the operands where they lie.
TEST(Contract, CommonContractionsCopyNothing) {
  const auto product = plan("ab,bc->ac", {{64, 32}, {32, 48}});
  EXPECT_FALSE(product.by_loops || copies(product));
  EXPECT_EQ(std::tuple(product.m, product.n, product.k), std::tuple(64, 48, 32));
  for (const char* spec : {"ba,bc->ac", "ab,cb->ac", "ba,cb->ac", "ab,bc->ca", "ba,cb->ca"}) {
    const auto flipped = plan(spec, {{64, 64}, {64, 64}});
    EXPECT_FALSE(flipped.by_loops || copies(flipped)) << spec;
    EXPECT_TRUE(flipped.products.loops().empty()) << spec;
  }
  const Shape heads = {4, 64, 8, 32};  // batch, sequence, head, width
  const std::pair<const char*, std::vector<Shape>> cases[] = {
      {"bsd,df->bsf", {{4, 64, 128}, {128, 96}}},  // a layer
      {"bsf,df->bsd", {{4, 64, 96}, {128, 96}}},   // its gradients
      {"bsd,bsf->df", {{4, 64, 128}, {4, 64, 96}}},
      {"bsd,dhe->bshe", {{4, 64, 128}, {128, 8, 32}}},  // into heads
      {"bsd,dhe->bhse", {{4, 64, 128}, {128, 8, 32}}},
      {"bshe,bthe->bhst", {heads, heads}},           // scores
      {"bhst,bthe->bshe", {{4, 8, 64, 64}, heads}},  // attention
      {"bhst,bshe->bthe", {{4, 8, 64, 64}, heads}},  // its gradient
      {"bshe,hed->bsd", {heads, {8, 32, 128}}},      // out of heads
  };
  for (const auto& [spec, shapes] : cases) {
    const auto chosen = plan(spec, shapes);
    EXPECT_FALSE(chosen.by_loops || copies(chosen)) << spec;
  }
}

TEST(Contract, TinyProductsAreLoops) {
  EXPECT_TRUE(plan("abc,abc->abc", {{10, 10, 10}, {10, 10, 10}}).by_loops);
  EXPECT_TRUE(plan("xab,xbc->xac", {{100, 2, 2}, {100, 2, 2}}).by_loops);
}

TEST(Contract, RunsInSeveralThreadsAtOnce) {
  const KernelCall call =
      make_call("contract", {{"spec", "xab,bcx->cxa"}}, {{3, 40, 50}, {50, 30, 3}});
  Rng rng(8);
  const auto inputs = test::random_inputs(rng, call);
  const auto runnable = cpu::bind<double>(call);
  const std::vector<const double*> from = {inputs[0].data(), inputs[1].data()};
  std::vector<std::vector<double>> results(4, std::vector<double>(element_count(call.outputs[0])));
  {
    std::vector<std::jthread> threads;
    for (auto& result : results) {
      threads.emplace_back([&] {
        const std::vector<double*> to = {result.data()};
        for (int i = 0; i < 20; ++i) runnable->run(from, to);
      });
    }
  }
  const auto expected = test::naive_einsum("xab,bcx->cxa", call.inputs, inputs);
  for (const auto& result : results) {
    EXPECT_THAT(result, testing::Pointwise(testing::DoubleNear(1e-12), expected));
  }
}

}  // namespace
}  // namespace doppler::kernel
