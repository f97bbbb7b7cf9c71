#include "doppler/exec/probe/probe_calls.h"

#include <gtest/gtest.h>

#include "doppler/kernel/registry.h"

namespace doppler::exec {
namespace {

TEST(ProbeCalls, EveryKernelIsMeasuredAtAboutTheSizeAskedFor) {
  const kernel::Registry kernels = kernel::default_kernels();
  const std::vector<std::string> ops = probed_ops();
  // All but contract and the second derivatives of ten functions.
  EXPECT_EQ(ops.size() + 11, kernels.names().size());
  for (const std::string& op : ops) {
    for (const double bytes : {32e3, 16e6}) {
      const std::vector<ProbeCall> calls = probe_calls(op, bytes);
      ASSERT_FALSE(calls.empty()) << op;
      for (const ProbeCall& probe : calls) {
        EXPECT_EQ(probe.call.name, op);
        kernels.check(probe.call);
        EXPECT_GT(probe.bytes, 0.75 * bytes) << op;
        EXPECT_LT(probe.bytes, 1.25 * bytes) << op;
        if (probe.index_input < 0) continue;
        ASSERT_LT(static_cast<std::size_t>(probe.index_input), probe.call.inputs.size());
        EXPECT_GT(probe.index_rows, 0);
      }
    }
  }
}

// Flops per byte of a product of squares are side / 6.
TEST(ProbeCalls, ProductsHaveTheIntensityOfTheirSide) {
  for (const std::int64_t side : {8, 16, 64, 128, 256, 1024}) {
    for (const ProbeCall& probe : probe_products(side)) {
      const double intensity = static_cast<double>(side) / 6.0;
      EXPECT_NEAR(probe.flops / probe.bytes, intensity, 0.25 * intensity) << side;
    }
  }
  for (const ProbeCall& probe : probe_products(1)) {
    EXPECT_NEAR(probe.flops / probe.bytes, 0.25, 0.01);
  }
  for (const ProbeCall& probe : probe_products(2)) {
    EXPECT_NEAR(probe.flops / probe.bytes, 0.5, 0.01);
  }
}

}  // namespace
}  // namespace doppler::exec
