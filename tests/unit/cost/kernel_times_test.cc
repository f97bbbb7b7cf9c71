#include "doppler/cost/kernel_times.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "doppler/base/rng.h"
#include "doppler/cost/predicted.h"
#include "doppler/device/catalogue.h"
#include "doppler/graph/builder.h"

namespace doppler::cost {
namespace {

using kernel::WorkClass;

// The data sheet of an A100 with 80 GB (SXM).
device::DeviceKind a100() {
  device::Hardware hardware{.multiprocessors = 108, .clock_hz = 1.41e9, .cache_bytes = 40e6};
  const auto set = [&](ElementType type, double peak) {
    hardware.product_flops[static_cast<std::size_t>(type)] = peak;
  };
  set(ElementType::kF64, 19.5e12);
  set(ElementType::kF32, 19.5e12);
  set(ElementType::kTf32, 156e12);
  set(ElementType::kF16, 312e12);
  set(ElementType::kBf16, 312e12);
  set(ElementType::kI8, 624e12);
  return {.name = "A100",
          .peak_flops = 19.5e12,
          .memory_bandwidth = 2.039e12,
          .launch_overhead_seconds = 5e-6,
          .hardware = hardware};
}

KernelRun product(double rows, double columns, double depth, ElementType type = ElementType::kF16) {
  return {.work_class = WorkClass::kProduct,
          .type = type,
          .flops = 2.0 * rows * columns * depth,
          .bytes = element_bytes(type) * (rows * depth + depth * columns + rows * columns),
          .rows = rows,
          .columns = columns,
          .depth = depth};
}

TEST(KernelTimes, ProductsOfOneRowAreLimitedByTheBytesOfTheWeights) {
  // 2 bytes x (4096 + 4096 x 4096 + 4096) = 33,570,816 bytes at 0.83 x 2.039e12 bytes/s take
  // 19.837 us. The tiles that a library prefers take less: 16 of 256 x 128 (or 64 columns, 64
  // tiles), each 4096 deep, whose latency alone is 4096 x 2.61 ns + 1.45 us = 12.14 us; the other
  // ways take up to 20.5 us. Together, with the floor of 3.3 us, 26.2 us: 25 were measured.
  const double seconds = *kernel_seconds(a100(), product(1, 4096, 4096));
  EXPECT_GT(seconds, 19.837e-6 + 3.3e-6);
  EXPECT_NEAR(seconds, 26.2220e-6, 1e-9);
}

TEST(KernelTimes, ProductsOfFewRowsOutsideMatrixUnitsComputeNoWholeTiles) {
  // In f32 an A100 has no matrix units: 4 x (4096 x 4096 + 8192) bytes take 39.7 us at 0.83 of the
  // bandwidth. Whole tiles of 64 rows would take 64 x 2 x 4096^2 flops, 124 us at 0.885 of the
  // peak.
  const double one = *kernel_seconds(a100(), product(1, 4096, 4096, ElementType::kF32));
  EXPECT_GT(one, 39.7e-6 + 3.3e-6);
  EXPECT_LT(one, 60e-6);
  EXPECT_LT(one, 0.6 * *kernel_seconds(a100(), product(64, 4096, 4096, ElementType::kF32)));
}

TEST(KernelTimes, CuttingAProductOutsideMatrixUnitsGainsNothing) {
  const double whole = *kernel_seconds(a100(), product(8192, 8192, 8192, ElementType::kF32));
  const double part = *kernel_seconds(a100(), product(1024, 8192, 8192, ElementType::kF32));
  EXPECT_GE(8.0 * part, whole);
}

TEST(KernelTimes, StepsOfARecurrentLayerFindTheirWeightsInTheCache) {
  KernelRun step = product(1, 4096, 1024, ElementType::kF32);
  step.work_class = WorkClass::kRecurrence;
  // 16.8 MB of weights are less than 0.65 of 40 MB: they are read from memory once, by the product
  // of all steps before, and a step takes what its tiles take. 268 MB come from memory each time.
  const double cached = *kernel_seconds(a100(), step);
  EXPECT_LT(cached, *kernel_seconds(a100(), product(1, 4096, 1024, ElementType::kF32)));
  step = product(1, 16384, 4096, ElementType::kF32);
  const double product_s = *kernel_seconds(a100(), step);
  step.work_class = WorkClass::kRecurrence;
  EXPECT_EQ(*kernel_seconds(a100(), step), product_s);
}

TEST(KernelTimes, DoublesAreAsSlowOutsideProductsAsInThem) {
  device::DeviceKind gaming = a100();  // with a 64th of its peak in f64, as cards for games
  gaming.hardware->product_flops[static_cast<std::size_t>(ElementType::kF64)] = 19.5e12 / 64;
  const KernelRun run{.work_class = WorkClass::kFactorisation,
                      .type = ElementType::kF64,
                      .flops = 1e12,
                      .bytes = 1e6};
  EXPECT_NEAR(*kernel_seconds(gaming, run), 4.0 * 64 * 1e12 / 19.5e12, 0.01);
  EXPECT_NEAR(*kernel_seconds(a100(), run), 4.0 * 1e12 / 19.5e12, 0.001);
}

TEST(KernelTimes, SoftmaxOfShortRowsReadsThemOnce) {
  // 400e6 bytes at 0.86 x 2.039e12 bytes/s take 228 us.
  KernelRun run{.work_class = WorkClass::kSoftmax,
                .bytes = 400e6,
                .bytes_read = 200e6,
                .rows = 1e5,
                .columns = 1000.0};
  EXPECT_NEAR(*kernel_seconds(a100(), run), 228e-6, 3e-6);
  run.columns = 5000.0;
  EXPECT_GT(*kernel_seconds(a100(), run), 400e-6);
}

TEST(KernelTimes, AgreeWithAnIndependentComputation) {
  // The formulas of docs/costs.md in another program and language.
  EXPECT_NEAR(*kernel_seconds(a100(), product(192, 12288, 4096)), 111.0341e-6, 1e-9);
  EXPECT_NEAR(*kernel_seconds(a100(), product(512, 4096, 11008)), 226.6139e-6, 1e-9);
  EXPECT_NEAR(*kernel_seconds(a100(), product(4096, 22016, 4096)), 3470.4470e-6, 1e-9);
  EXPECT_NEAR(*kernel_seconds(a100(), product(200, 4096, 512)), 10.9314e-6, 1e-9);
}

TEST(KernelTimes, TheTypeOfAProductDecidesItsPeak) {
  // A large product is limited by compute in every type, so that the times are about as the peaks.
  const auto seconds = [](ElementType type) {
    return *kernel_seconds(a100(), product(8192, 8192, 8192, type));
  };
  const double half = seconds(ElementType::kF16);
  EXPECT_EQ(seconds(ElementType::kBf16), half);
  EXPECT_NEAR(seconds(ElementType::kTf32) / half, 2.0, 0.2);
  // f16 is 16 times as fast, less the quarter that matrix units lose to the limit of power.
  EXPECT_NEAR(seconds(ElementType::kF32) / half, 16.0 / 1.26, 0.5);
  // There is nothing for fp8 before H100: it is computed in bf16, but read in half of the bytes.
  EXPECT_LE(seconds(ElementType::kFp8), half);
  EXPECT_GT(seconds(ElementType::kFp8), 0.9 * half);
}

// Cards for games have as much of tf32 as of f32, and its tiles are coarse.
TEST(KernelTimes, NarrowerTypesAreNeverSlowerOnAnyDevice) {
  for (const device::CatalogueEntry& entry : device::catalogue()) {
    const device::DeviceKind kind = device::catalogue_kind(entry);
    if (!kind.hardware) continue;
    for (const double rows : {1.0, 100.0, 8192.0}) {
      double wider = std::numeric_limits<double>::infinity();
      for (const ElementType type : {ElementType::kF64, ElementType::kF32, ElementType::kTf32,
                                     ElementType::kBf16, ElementType::kFp8}) {
        const double seconds = *kernel_seconds(kind, product(rows, 8192, 8192, type));
        EXPECT_LE(seconds, 1.001 * wider)
            << kind.name << ' ' << element_type_name(type) << ' ' << rows;
        wider = seconds;
      }
    }
  }
}

TEST(KernelTimes, TypesWithoutAUnitFallBackOnWiderOnes) {
  const device::Hardware hardware = *a100().hardware;
  EXPECT_EQ(product_type(hardware, ElementType::kF16), ElementType::kF16);
  EXPECT_EQ(product_type(hardware, ElementType::kFp8), ElementType::kBf16);
  EXPECT_EQ(product_type(hardware, ElementType::kI4), ElementType::kI8);
  EXPECT_EQ(product_type(hardware, ElementType::kI64), ElementType::kF32);
  device::Hardware old;  // f32 alone
  old.product_flops[static_cast<std::size_t>(ElementType::kF32)] = 1e12;
  for (const ElementType type : {ElementType::kTf32, ElementType::kF16, ElementType::kBf16,
                                 ElementType::kFp8, ElementType::kI8}) {
    EXPECT_EQ(product_type(old, type), ElementType::kF32) << element_type_name(type);
  }
}

TEST(KernelTimes, StreamsAreLimitedByMemoryByMultiprocessorsOrByTheirFloor) {
  const auto seconds = [](WorkClass work_class, double read, double written) {
    return *kernel_seconds(a100(),
                           {.work_class = work_class, .bytes = read + written, .bytes_read = read});
  };
  // Memory: 200e6 + 100e6 bytes, far beyond the cache, at 0.86 x 2.039e12 bytes/s take 171.1 us.
  // With the floor of 2.03 us: (171.1 ^ 1.6 + 2.03 ^ 1.6) ^ (1 / 1.6) = 171.18.
  EXPECT_NEAR(seconds(WorkClass::kElementwise, 200e6, 100e6), 171.18e-6, 0.05e-6);
  // Multiprocessors: a gather of the same bytes moves 2.03 bytes a clock on each of 108: 300e6 /
  // (2.03 x 1.41e9 x 108) = 970.5 us.
  EXPECT_NEAR(seconds(WorkClass::kGather, 200e6, 100e6), 970.6e-6, 0.1e-6);
  // A norm reads twice: 500e6 bytes through memory take 285.1 us, but its multiprocessors 368.2 us.
  EXPECT_NEAR(seconds(WorkClass::kNorm, 200e6, 100e6), 368.4e-6, 0.1e-6);
  // Floors.
  EXPECT_NEAR(seconds(WorkClass::kElementwise, 100, 100), 2.03e-6, 0.01e-6);
  EXPECT_NEAR(seconds(WorkClass::kNorm, 100, 100), 3.78e-6, 0.01e-6);
}

TEST(KernelTimes, WhatIsNotKnownHasNoTime) {
  EXPECT_FALSE(kernel_seconds(a100(), {.work_class = WorkClass::kProduct}));
  EXPECT_FALSE(kernel_seconds(a100(), {.work_class = WorkClass::kNorm}));
}

TEST(KernelTimes, ConvolutionsOfOneChannelAGroupAreNoProducts) {
  // A depthwise convolution of 112 x 112 pixels, 32 channels, 3 x 3 taps: as products, 32 groups
  // would each fill a tile of 64 columns with one.
  const double pixels = 112 * 112, bytes = 2.0 * 32 * pixels;
  KernelRun run{.work_class = WorkClass::kConvolution,
                .type = ElementType::kF16,
                .flops = 2.0 * 9 * 32 * pixels,
                .bytes = 2.0 * bytes,
                .bytes_read = bytes,
                .batch = 32,
                .rows = pixels,
                .columns = 1,
                .depth = 9};
  KernelRun as_product = run;
  as_product.work_class = WorkClass::kProduct;
  EXPECT_LT(*kernel_seconds(a100(), run), 0.5 * *kernel_seconds(a100(), as_product));
}

TEST(KernelTimes, MoreWorkNeverTakesMuchLess) {
  // Twice the rows, columns or depth may fill the multiprocessors better, but never so that the
  // larger product is faster than the smaller one, beyond the choice among tiles.
  for (const double rows : {1.0, 16.0, 100.0, 1000.0, 5000.0}) {
    for (const double columns : {64.0, 1000.0, 4096.0}) {
      for (const double depth : {64.0, 512.0, 4096.0}) {
        const double base = *kernel_seconds(a100(), product(rows, columns, depth));
        EXPECT_GT(*kernel_seconds(a100(), product(2 * rows, columns, depth)), 0.95 * base);
        EXPECT_GT(*kernel_seconds(a100(), product(rows, 2 * columns, depth)), 0.95 * base);
        EXPECT_GT(*kernel_seconds(a100(), product(rows, columns, 2 * depth)), 0.95 * base);
      }
    }
  }
}

TEST(KernelTimes, AreFiniteAndPositiveWhateverAFileSays) {
  constexpr std::uint64_t kSeed = 7;
  Rng rng(kSeed);
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  // From nothing to the largest number that graphs may hold, most of them in between.
  const auto number = [&] {
    return rng.chance(0.1) ? 0.0 : std::pow(10.0, rng.uniform() * 33.0 - 3.0);
  };
  for (int i = 0; i < 20'000; ++i) {
    const KernelRun run{.work_class = static_cast<WorkClass>(rng.below(kernel::kWorkClassCount)),
                        .type = kElementTypes[rng.below(kElementTypeCount)],
                        .flops = number(),
                        .bytes = number(),
                        .bytes_read = number(),
                        .batch = 1.0 + number(),
                        .rows = number(),
                        .columns = number(),
                        .depth = number()};
    const double seconds = *kernel_seconds(a100(), run);
    ASSERT_TRUE(std::isfinite(seconds) && seconds > 0.0)
        << i << ": " << kernel::work_class_name(run.work_class) << ' ' << run.batch << ' '
        << run.rows << ' ' << run.columns << ' ' << run.depth << ' ' << *run.flops << ' '
        << *run.bytes;
  }
}

// --- nodes ---

TEST(Predicted, ANodeTakesTheTimesOfItsKernelsAndTheirLaunches) {
  graph::GraphBuilder builder;
  builder.add_node({.name = "steps",
                    .op = "LSTM",
                    .flops = 1e9,
                    .works = {{.work_class = WorkClass::kElementwise,
                               .count = 10.0,
                               .flops = 0.0,
                               .bytes_read = 50.0,
                               .bytes_written = 50.0}}});
  const graph::Graph graph = std::move(builder).build();
  // Ten times a floor of 2.03 us and 0.9 us to launch.
  EXPECT_NEAR(*Predicted(graph, std::nullopt).node_time(graph, NodeId(0), a100()), 29.3e-6,
              0.01e-6);
}

TEST(Predicted, ViewsLaunchNoKernel) {
  graph::GraphBuilder builder;
  builder.add_node({.name = "view", .op = "aten::as_strided", .flops = 0.0, .bytes_read = 0.0});
  builder.add_node({.name = "tiny", .op = "aten::add", .flops = 1.0, .bytes_read = 8.0});
  const graph::Graph graph = std::move(builder).build();
  EXPECT_EQ(Predicted(graph, std::nullopt).node_time(graph, NodeId(0), a100()), 0.0);
  EXPECT_GT(*Predicted(graph, std::nullopt).node_time(graph, NodeId(1), a100()), 2.8e-6);
}

TEST(Predicted, APrecisionHalvesTheBytesOfFloatsAlone) {
  graph::GraphBuilder builder;
  const TensorId x = builder.add_tensor(
      {.name = "x", .role = graph::TensorRole::kInput, .bytes = 400e6, .type = ElementType::kF32});
  const TensorId i = builder.add_tensor(
      {.name = "i", .role = graph::TensorRole::kInput, .bytes = 400e6, .type = ElementType::kI32});
  const NodeId node = builder.add_node(
      {.name = "n", .op = "Add", .flops = 0.0, .bytes_read = 800e6, .bytes_written = 0.0});
  builder.connect(x, node);
  builder.connect(i, node);
  const graph::Graph graph = std::move(builder).build();
  EXPECT_EQ(tensor_bytes(graph, x, ElementType::kBf16), 200e6);
  EXPECT_EQ(tensor_bytes(graph, i, ElementType::kBf16), 400e6);
  EXPECT_EQ(tensor_bytes(graph, x, std::nullopt), 400e6);
  std::vector<KernelRun> runs;
  KernelRuns(graph, ElementType::kBf16).of(node, runs);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].bytes, 600e6);
  EXPECT_EQ(runs[0].type, ElementType::kBf16);
  KernelRuns(graph, std::nullopt).of(node, runs);
  EXPECT_EQ(runs[0].bytes, 800e6);
  EXPECT_EQ(runs[0].type, ElementType::kF32);
}

TEST(Predicted, KindsWithoutHardwareFiguresGoByTheClassOfAnOp) {
  const device::DeviceKind kind{.name = "cpu",
                                .peak_flops = 100.0,
                                .memory_bandwidth = 10.0,
                                .launch_overhead_seconds = 1.0,
                                .efficiency_by_op = {{"contract", device::Efficiency{0.5, 1.0}}}};
  graph::GraphBuilder builder;
  for (const char* op : {"MatMul", "InnerProduct", "aten::addmm", "Add"}) {
    builder.add_node({.name = op, .op = op, .flops = 100.0});
  }
  const graph::Graph graph = std::move(builder).build();
  const Predicted predicted(graph, std::nullopt);
  // 100 flops at half of 100 flop/s take 2 s, and a launch 1 s.
  EXPECT_EQ(predicted.node_time(graph, NodeId(0), kind), 3.0);
  EXPECT_EQ(predicted.node_time(graph, NodeId(1), kind), 3.0);
  EXPECT_EQ(predicted.node_time(graph, NodeId(2), kind), 3.0);
  EXPECT_EQ(predicted.node_time(graph, NodeId(3), kind), 2.0);
}

}  // namespace
}  // namespace doppler::cost
