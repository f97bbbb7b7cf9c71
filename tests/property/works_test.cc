// The works of real graphs, and of programs: what readers and kernels derive beside the flops and
// bytes of a node agrees with these.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "doppler/api/doppler.h"
#include "doppler/kernel/call_work.h"
#include "support/programs.h"
#include "support/shared_graphs.h"

namespace doppler {
namespace {

using kernel::Work;
using kernel::WorkClass;

std::vector<Work> works_of_node(const graph::Graph& graph, NodeId node) {
  if (const kernel::KernelCall* call = graph.kernel_call(node)) return {kernel::work_of(*call)};
  const auto works = graph.works(node);
  return {works.begin(), works.end()};
}

// Every product and convolution has sizes, whose flops are within 5 % of its own, and all works of
// a node together have its flops and bytes. Returns the number of products and convolutions.
std::size_t expect_works_agree(const graph::Graph& graph) {
  std::size_t products = 0;
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const NodeId node = NodeId::of(v);
    SCOPED_TRACE(graph.node_name(node));
    double flops = 0.0, read = 0.0, written = 0.0;
    const std::vector<Work> works = works_of_node(graph, node);
    for (const Work& work : works) {
      const double own_flops = work.flops.value_or(graph.flops(node).value_or(0.0) / work.count);
      flops += work.count * own_flops;
      read +=
          work.count * work.bytes_read.value_or(graph.bytes_read(node).value_or(0.0) / work.count);
      written += work.count *
                 work.bytes_written.value_or(graph.bytes_written(node).value_or(0.0) / work.count);
      const WorkClass work_class =
          work.work_class.value_or(kernel::classify_op(graph.op_kind(node)));
      if (work_class != WorkClass::kProduct && work_class != WorkClass::kConvolution) continue;
      ++products;
      EXPECT_TRUE(work.is_product());
      EXPECT_NEAR(2.0 * work.batch * work.rows * work.columns * work.depth, own_flops,
                  0.05 * own_flops);
    }
    const auto expect_sum = [&](const std::optional<double>& whole, double sum) {
      if (whole && !works.empty()) {
        EXPECT_NEAR(sum, *whole, 1e-9 * *whole);
      }
    };
    expect_sum(graph.flops(node), flops);
    expect_sum(graph.bytes_read(node), read);
    expect_sum(graph.bytes_written(node), written);
    if (works.empty()) {
      const WorkClass work_class = kernel::classify_op(graph.op_kind(node));
      EXPECT_NE(work_class, WorkClass::kProduct);
      EXPECT_NE(work_class, WorkClass::kConvolution);
    }
  }
  return products;
}

// The files' totals are those from before works were derived, which must not change them.
TEST(Works, AgreeWithTheCostsOfRealGraphs) {
  struct File {
    const char* name;
    double flops, bytes_read, bytes_written;
  };
  constexpr File kFiles[] = {
      {"hlo/xla/backends/cpu/benchmarks/hlo/dlrm_keras_jax_f32_test_step.hlo", 562870194, 31208840,
       29524708},
      // Two products of 12 x [128, 64] by [64, 128], and some on their results.
      {"hlo/xla/backends/cpu/benchmarks/hlo/mha_block_1x12x128x64_bf16.hlo", 51710976, 4340736,
       3161088},
      {"hlo/xla/backends/cpu/benchmarks/hlo/resnet50_keras_jax_f32.hlo", 7449646577, 358975528,
       233237468},
      {"hlo/xla/tools/benchmarks/hlo/hlo_llama31_70b_bf16_16x8.hlo", 10113618748403722,
       9043161653055, 6807878416740},
      {"hlo/xla/tools/benchmarks/hlo/nv_maxtext_1n1g_jit_train_step_before_optimization.hlo",
       140566185350632, 829369165045, 570337468572},
      {"traces/kineto/linear_et.json.gz", 66662780931, 979894284, 537214988}};
  for (const File& file : kFiles) {
    SCOPED_TRACE(file.name);
    const auto path = test::shared_graph(file.name);
    if (!path) GTEST_SKIP() << "the shared graphs are not here";
    const graph::Graph graph = formats::load(*path).graph;
    EXPECT_GT(expect_works_agree(graph), 0u);
    double flops = 0.0, read = 0.0, written = 0.0;
    for (std::size_t v = 0; v < graph.node_count(); ++v) {
      flops += graph.flops(NodeId::of(v)).value_or(0.0);
      read += graph.bytes_read(NodeId::of(v)).value_or(0.0);
      written += graph.bytes_written(NodeId::of(v)).value_or(0.0);
    }
    EXPECT_NEAR(flops, file.flops, 1e-13 * file.flops);
    EXPECT_NEAR(read, file.bytes_read, 1e-13 * file.bytes_read);
    EXPECT_NEAR(written, file.bytes_written, 1e-13 * file.bytes_written);
  }
}

TEST(Works, AgreeWithTheCostsOfPrograms) {
  for (const std::string& name : test::small_programs()) {
    for (const bool train : {false, true}) {
      SCOPED_TRACE(name + (train ? " in training" : ""));
      const auto found = api::compile(test::small_program(name), "4xA100", {.train = train});
      EXPECT_GT(expect_works_agree(found.lowered.graph), 0u);
    }
  }
}

}  // namespace
}  // namespace doppler
