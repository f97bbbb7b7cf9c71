#include "doppler/device/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "doppler/device/roofline.h"

namespace doppler::device {

// NVIDIA DGX-1 with Tesla V100 system architecture white paper (2017), with the counts that
// `nvidia-smi topo -m` prints on such a machine (NV1, NV2). Two quads, each fully connected, and
// one edge from each GPU to its counterpart; 6 links leave every GPU.
constexpr MeshLinks kCubeMesh = {{
    {0, 1, 1, 2, 2, 0, 0, 0},
    {1, 0, 2, 1, 0, 2, 0, 0},
    {1, 2, 0, 2, 0, 0, 1, 0},
    {2, 1, 2, 0, 0, 0, 0, 1},
    {2, 0, 0, 0, 0, 1, 1, 2},
    {0, 2, 0, 0, 1, 0, 2, 1},
    {0, 0, 1, 0, 1, 2, 0, 2},
    {0, 0, 0, 1, 2, 1, 2, 0},
}};

// As `rocm-smi --shownodesbw` prints it on a node of four MI250 (Hugging Face, "AMD Instinct GPU
// connectivity", 2023): four links inside a card, one or two between some dies of different cards.
constexpr MeshLinks kGcdMesh = {{
    {0, 4, 1, 0, 0, 0, 2, 0},
    {4, 0, 0, 1, 0, 1, 0, 0},
    {1, 0, 0, 4, 2, 0, 0, 0},
    {0, 1, 4, 0, 0, 0, 0, 1},
    {0, 0, 2, 0, 0, 4, 1, 0},
    {0, 1, 0, 0, 4, 0, 0, 1},
    {2, 0, 0, 0, 1, 0, 0, 4},
    {0, 0, 0, 1, 0, 1, 4, 0},
}};

constexpr MeshLinks kFullMesh = {{
    {0, 1, 1, 1, 1, 1, 1, 1},
    {1, 0, 1, 1, 1, 1, 1, 1},
    {1, 1, 0, 1, 1, 1, 1, 1},
    {1, 1, 1, 0, 1, 1, 1, 1},
    {1, 1, 1, 1, 0, 1, 1, 1},
    {1, 1, 1, 1, 1, 0, 1, 1},
    {1, 1, 1, 1, 1, 1, 0, 1},
    {1, 1, 1, 1, 1, 1, 1, 0},
}};

namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMiB = 1024.0 * 1024.0;

// TPUs have few large cores, which are fed from memory on the chip by programs that know the
// shapes: there are no waves of thread blocks, no latency of a block, and no limit of a core but
// memory.
constexpr KernelFigures kSystolicKernels = [] {
  constexpr double kUnlimited = 1e9;  // bytes a clock
  KernelFigures kernels;
  kernels.product.whole_wave_share = 0.0;
  kernels.product.least_wave = 0.0;
  kernels.product.fill_seconds = 0.0;
  kernels.product.depth_seconds = 0.0;
  kernels.product.heat_share = 0.0;
  kernels.product.tile_bytes_per_clock = kernels.product.sum_bytes_per_clock = kUnlimited;
  for (StreamFigures* figures : {&kernels.elementwise, &kernels.activation, &kernels.strided,
                                 &kernels.norm, &kernels.gather, &kernels.reduction}) {
    figures->bytes_per_clock = kUnlimited;
  }
  return kernels;
}();

// Large products in bf16 reach 620 of 1307 Tflop/s on an MI300X with ROCm's libraries, where an
// H100 reaches 720 of 989 (SemiAnalysis, "MI300X vs H100 vs H200 Benchmark Part 1: Training",
// 2024): 0.65 of the share of the peak.
constexpr KernelFigures kCdna3Kernels = [] {
  KernelFigures kernels;
  kernels.product.peak_share *= 0.65;
  return kernels;
}();

// Peaks are those of data sheets without sparsity, which newer data sheets print at twice these
// figures. Figures that no data sheet has follow from the number of multiprocessors, what each does
// in a cycle and the boost clock, as the entry's source says: f32 is multiprocessors x lanes x 2 x
// clock, with 64 lanes before and 128 lanes since GA102, and 64 lanes on A30 and A100.
constexpr CatalogueEntry kCatalogue[] = {
    // --- NVIDIA ---
    {.name = "P100",
     .maker = "NVIDIA",
     .year = 2016,
     .memory_gib = 16,
     .memory_bandwidth = 732 * kGiga,
     .peak_flops = 9.3 * kTera,
     .products = {.f64 = 4.7 * kTera, .f32 = 9.3 * kTera, .f16 = 18.7 * kTera},
     .multiprocessors = 56,
     .clock_hz = 1303e6,
     .cache_bytes = 4 * kMiB,
     .host = kPcie3Host,
     .network = kServerNetwork,
     .source = "NVIDIA Tesla P100 PCIe data sheet (2016): peaks, memory; Tesla P100 white paper "
               "(2016): SMs, L2; no matrix units, f16 in pairs"},
    {.name = "P100",
     .maker = "NVIDIA",
     .year = 2016,
     .memory_gib = 12,
     .memory_bandwidth = 549 * kGiga,
     .peak_flops = 9.3 * kTera,
     .products = {.f64 = 4.7 * kTera, .f32 = 9.3 * kTera, .f16 = 18.7 * kTera},
     .multiprocessors = 56,
     .clock_hz = 1303e6,
     .cache_bytes = 3 * kMiB,
     .host = kPcie3Host,
     .network = kServerNetwork,
     .source = "NVIDIA Tesla P100 PCIe data sheet (2016): peaks, memory; L2 derived, three of four "
               "memory stacks"},
    {.name = "V100",
     .maker = "NVIDIA",
     .year = 2017,
     .memory_gib = 32,
     .memory_bandwidth = 900 * kGiga,
     .peak_flops = 15.7 * kTera,
     .products = {.f64 = 7.8 * kTera, .f32 = 15.7 * kTera, .f16 = 125 * kTera, .i8 = 62.7 * kTera},
     .multiprocessors = 80,
     .clock_hz = 1530e6,
     .cache_bytes = 6 * kMiB,
     .fabric = Fabric::kMesh,
     .link = kNvlink2,
     .mesh = &kCubeMesh,
     .larger_box_port = kNvlink2Port,
     .host = kPcie3Host,
     .network = kDgx1Network,
     .source = "NVIDIA V100 data sheet (2020), SXM2: peaks, memory; Tesla V100 white paper (2017): "
               "SMs, clock, L2; i8 derived: four products a lane and cycle (dp4a)"},
    {.name = "V100",
     .maker = "NVIDIA",
     .year = 2017,
     .memory_gib = 16,
     .memory_bandwidth = 900 * kGiga,
     .peak_flops = 15.7 * kTera,
     .products = {.f64 = 7.8 * kTera, .f32 = 15.7 * kTera, .f16 = 125 * kTera, .i8 = 62.7 * kTera},
     .multiprocessors = 80,
     .clock_hz = 1530e6,
     .cache_bytes = 6 * kMiB,
     .fabric = Fabric::kMesh,
     .link = kNvlink2,
     .mesh = &kCubeMesh,
     .larger_box_port = kNvlink2Port,
     .host = kPcie3Host,
     .network = kDgx1Network,
     .source = "NVIDIA V100 data sheet (2020), SXM2: peaks, memory; Tesla V100 white paper (2017): "
               "SMs, clock, L2; i8 derived: four products a lane and cycle (dp4a)"},
    {.name = "T4",
     .maker = "NVIDIA",
     .year = 2018,
     .memory_gib = 16,
     .memory_bandwidth = 320 * kGiga,
     .peak_flops = 8.1 * kTera,
     .products = {.f64 = 0.25 * kTera, .f32 = 8.1 * kTera, .f16 = 65 * kTera, .i8 = 130 * kTera},
     .multiprocessors = 40,
     .clock_hz = 1590e6,
     .cache_bytes = 4 * kMiB,
     .host = kPcie3Host,
     .network = kServerNetwork,
     .source = "NVIDIA T4 product brief (2019): peaks, memory, clock; Turing white paper (2018): "
               "SMs, L2; f64 derived: 1/32 of f32"},
    // The reference board; the Founders Edition has 1635 MHz.
    {.name = "RTX2080Ti",
     .maker = "NVIDIA",
     .year = 2018,
     .memory_gib = 11,
     .memory_bandwidth = 616 * kGiga,
     .peak_flops = 13.4 * kTera,
     .products =
         {.f64 = 0.42 * kTera, .f32 = 13.4 * kTera, .f16 = 53.8 * kTera, .i8 = 215.2 * kTera},
     .multiprocessors = 68,
     .clock_hz = 1545e6,
     .cache_bytes = 5.5 * kMiB,
     .bridge = kBridge2080Ti,
     .peer_access = false,
     .host = kPcie3Host,
     .network = kServerNetwork,
     .source = "NVIDIA Turing white paper (2018), reference board, f16 with f32 accumulation; f64 "
               "derived: 1/32 of f32"},
    // The two memory sizes differ in nothing else.
    {.name = "A100",
     .maker = "NVIDIA",
     .year = 2020,
     .memory_gib = 80,
     .memory_bandwidth = 2039 * kGiga,
     .peak_flops = 19.5 * kTera,
     .products = {.f64 = 19.5 * kTera,
                  .f32 = 19.5 * kTera,
                  .tf32 = 156 * kTera,
                  .f16 = 312 * kTera,
                  .bf16 = 312 * kTera,
                  .i8 = 624 * kTera},
     .multiprocessors = 108,
     .clock_hz = 1410e6,
     .cache_bytes = 40 * kMiB,
     .fabric = Fabric::kSwitch,
     .link = kNvlink3Port,
     .host = kPcie4Host,
     .network = kDgxA100Network,
     .source = "NVIDIA A100 data sheet (2021), SXM: peaks, memory; A100 white paper (2020): SMs, "
               "clock, L2"},
    {.name = "A100",
     .maker = "NVIDIA",
     .year = 2020,
     .memory_gib = 40,
     .memory_bandwidth = 1555 * kGiga,
     .peak_flops = 19.5 * kTera,
     .products = {.f64 = 19.5 * kTera,
                  .f32 = 19.5 * kTera,
                  .tf32 = 156 * kTera,
                  .f16 = 312 * kTera,
                  .bf16 = 312 * kTera,
                  .i8 = 624 * kTera},
     .multiprocessors = 108,
     .clock_hz = 1410e6,
     .cache_bytes = 40 * kMiB,
     .fabric = Fabric::kSwitch,
     .link = kNvlink3Port,
     .host = kPcie4Host,
     .network = kDgxA100Network,
     .source = "NVIDIA A100 data sheet (2020), SXM: peaks, memory; A100 white paper (2020): SMs, "
               "clock, L2"},
    {.name = "A100-PCIe",
     .maker = "NVIDIA",
     .year = 2020,
     .memory_gib = 80,
     .memory_bandwidth = 1935 * kGiga,
     .peak_flops = 19.5 * kTera,
     .products = {.f64 = 19.5 * kTera,
                  .f32 = 19.5 * kTera,
                  .tf32 = 156 * kTera,
                  .f16 = 312 * kTera,
                  .bf16 = 312 * kTera,
                  .i8 = 624 * kTera},
     .multiprocessors = 108,
     .clock_hz = 1410e6,
     .cache_bytes = 40 * kMiB,
     .bridge = kBridgeA100,
     .bridge_included = true,
     .host = kPcie4Host,
     .network = kServerNetwork,
     .source = "NVIDIA A100 data sheet (2021), PCIe; A100 white paper (2020): SMs, clock, L2"},
    {.name = "A100-PCIe",
     .maker = "NVIDIA",
     .year = 2020,
     .memory_gib = 40,
     .memory_bandwidth = 1555 * kGiga,
     .peak_flops = 19.5 * kTera,
     .products = {.f64 = 19.5 * kTera,
                  .f32 = 19.5 * kTera,
                  .tf32 = 156 * kTera,
                  .f16 = 312 * kTera,
                  .bf16 = 312 * kTera,
                  .i8 = 624 * kTera},
     .multiprocessors = 108,
     .clock_hz = 1410e6,
     .cache_bytes = 40 * kMiB,
     .bridge = kBridgeA100,
     .bridge_included = true,
     .host = kPcie4Host,
     .network = kServerNetwork,
     .source = "NVIDIA A100 data sheet (2020), PCIe; A100 white paper (2020): SMs, clock, L2"},
    {.name = "RTX3090",
     .maker = "NVIDIA",
     .year = 2020,
     .memory_gib = 24,
     .memory_bandwidth = 936 * kGiga,
     .peak_flops = 35.6 * kTera,
     .products = {.f64 = 0.56 * kTera,
                  .f32 = 35.6 * kTera,
                  .tf32 = 35.6 * kTera,
                  .f16 = 71.2 * kTera,
                  .bf16 = 71.2 * kTera,
                  .i8 = 284.7 * kTera},
     .multiprocessors = 82,
     .clock_hz = 1695e6,
     .cache_bytes = 6 * kMiB,
     .bridge = kBridgeGa102,
     .peer_access = false,
     .host = kPcie4Host,
     .network = kServerNetwork,
     .source = "NVIDIA Ampere GA102 white paper (2020), f16 with f32 accumulation; f64 derived: "
               "1/64 of f32"},
    {.name = "A40",
     .maker = "NVIDIA",
     .year = 2020,
     .memory_gib = 48,
     .memory_bandwidth = 696 * kGiga,
     .peak_flops = 37.4 * kTera,
     .products = {.f64 = 0.58 * kTera,
                  .f32 = 37.4 * kTera,
                  .tf32 = 74.8 * kTera,
                  .f16 = 149.7 * kTera,
                  .bf16 = 149.7 * kTera,
                  .i8 = 299.3 * kTera},
     .multiprocessors = 84,
     .clock_hz = 1740e6,
     .cache_bytes = 6 * kMiB,
     .bridge = kBridgeGa102,
     .bridge_included = true,
     .host = kPcie4Host,
     .network = kServerNetwork,
     .source = "NVIDIA A40 data sheet (2021): peaks, memory; GA102 white paper (2020): SMs, clock, "
               "L2; f64 derived: 1/64 of f32"},
    {.name = "A10",
     .maker = "NVIDIA",
     .year = 2021,
     .memory_gib = 24,
     .memory_bandwidth = 600 * kGiga,
     .peak_flops = 31.2 * kTera,
     .products = {.f64 = 0.49 * kTera,
                  .f32 = 31.2 * kTera,
                  .tf32 = 62.5 * kTera,
                  .f16 = 125 * kTera,
                  .bf16 = 125 * kTera,
                  .i8 = 250 * kTera},
     .multiprocessors = 72,
     .clock_hz = 1695e6,
     .cache_bytes = 6 * kMiB,
     .host = kPcie4Host,
     .network = kServerNetwork,
     .source = "NVIDIA A10 data sheet (2021): peaks, memory; GA102 white paper (2020): L2; f64 "
               "derived: 1/64 of f32; clock derived: f32 / (72 SMs x 128 lanes x 2)"},
    {.name = "A30",
     .maker = "NVIDIA",
     .year = 2021,
     .memory_gib = 24,
     .memory_bandwidth = 933 * kGiga,
     .peak_flops = 10.3 * kTera,
     .products = {.f64 = 10.3 * kTera,
                  .f32 = 10.3 * kTera,
                  .tf32 = 82 * kTera,
                  .f16 = 165 * kTera,
                  .bf16 = 165 * kTera,
                  .i8 = 330 * kTera},
     .multiprocessors = 56,
     .clock_hz = 1440e6,
     .cache_bytes = 24 * kMiB,
     .bridge = kBridgeA30,
     .bridge_included = true,
     .host = kPcie4Host,
     .network = kServerNetwork,
     .source = "NVIDIA A30 data sheet (2021): peaks, memory; A30 product brief (2021): SMs, clock, "
               "L2"},
    {.name = "H100",
     .maker = "NVIDIA",
     .year = 2022,
     .memory_gib = 80,
     .memory_bandwidth = 3350 * kGiga,
     .peak_flops = 67 * kTera,
     .products = {.f64 = 67 * kTera,
                  .f32 = 67 * kTera,
                  .tf32 = 494.7 * kTera,
                  .f16 = 989.4 * kTera,
                  .bf16 = 989.4 * kTera,
                  .fp8 = 1978.9 * kTera,
                  .i8 = 1978.9 * kTera},
     .multiprocessors = 132,
     .clock_hz = 1980e6,
     .cache_bytes = 50 * kMiB,
     .fabric = Fabric::kSwitch,
     .link = kNvlink4Port,
     .host = kPcie5Host,
     .network = kDgxH100Network,
     .source = "NVIDIA H100 data sheet (2023), SXM: peaks, memory; H100 white paper (2023): peaks "
               "without sparsity (at 1830 MHz), SMs, L2; clock: that of f32"},
    {.name = "H100-PCIe",
     .maker = "NVIDIA",
     .year = 2022,
     .memory_gib = 80,
     .memory_bandwidth = 2000 * kGiga,
     .peak_flops = 51 * kTera,
     .products = {.f64 = 51 * kTera,
                  .f32 = 51 * kTera,
                  .tf32 = 378 * kTera,
                  .f16 = 756 * kTera,
                  .bf16 = 756 * kTera,
                  .fp8 = 1513 * kTera,
                  .i8 = 1513 * kTera},
     .multiprocessors = 114,
     .clock_hz = 1755e6,
     .cache_bytes = 50 * kMiB,
     .bridge = kBridgeH100,
     .bridge_included = true,
     .host = kPcie5Host,
     .network = kServerNetwork,
     .source = "NVIDIA H100 data sheet (2022), PCIe: peaks, memory; H100 white paper (2023): SMs, "
               "clock, L2"},
    {.name = "RTX4090",
     .maker = "NVIDIA",
     .year = 2022,
     .memory_gib = 24,
     .memory_bandwidth = 1008 * kGiga,
     .peak_flops = 82.6 * kTera,
     .products = {.f64 = 1.29 * kTera,
                  .f32 = 82.6 * kTera,
                  .tf32 = 82.6 * kTera,
                  .f16 = 165.2 * kTera,
                  .bf16 = 165.2 * kTera,
                  .fp8 = 330.3 * kTera,
                  .i8 = 660.6 * kTera},
     .multiprocessors = 128,
     .clock_hz = 2520e6,
     .cache_bytes = 72 * kMiB,
     .peer_access = false,
     .host = kPcie4Host,
     .network = kServerNetwork,
     .source =
         "NVIDIA Ada white paper (2022), f16 and fp8 with f32 accumulation; f64 derived: 1/64 "
         "of f32"},
    {.name = "L4",
     .maker = "NVIDIA",
     .year = 2023,
     .memory_gib = 24,
     .memory_bandwidth = 300 * kGiga,
     .peak_flops = 30.3 * kTera,
     .products = {.f64 = 0.47 * kTera,
                  .f32 = 30.3 * kTera,
                  .tf32 = 60 * kTera,
                  .f16 = 121 * kTera,
                  .bf16 = 121 * kTera,
                  .fp8 = 242.5 * kTera,
                  .i8 = 242.5 * kTera},
     .multiprocessors = 58,
     .clock_hz = 2040e6,
     .cache_bytes = 48 * kMiB,
     .host = kPcie4Host,
     .network = kServerNetwork,
     .source =
         "NVIDIA L4 data sheet (2023): peaks (halved: printed with sparsity), memory; Ada "
         "white paper for professional cards (2023): SMs, clock, L2; f64 derived: 1/64 of f32"},
    {.name = "L40S",
     .maker = "NVIDIA",
     .year = 2023,
     .memory_gib = 48,
     .memory_bandwidth = 864 * kGiga,
     .peak_flops = 91.6 * kTera,
     .products = {.f64 = 1.43 * kTera,
                  .f32 = 91.6 * kTera,
                  .tf32 = 183 * kTera,
                  .f16 = 362.05 * kTera,
                  .bf16 = 362.05 * kTera,
                  .fp8 = 733 * kTera,
                  .i8 = 733 * kTera},
     .multiprocessors = 142,
     .clock_hz = 2520e6,
     .cache_bytes = 96 * kMiB,
     .host = kPcie4Host,
     .network = kServerNetwork,
     .source =
         "NVIDIA L40S data sheet (2023): peaks, memory; Ada white paper for professional cards "
         "(2023): SMs, L2; f64 derived: 1/64 of f32; clock derived: f32 / (142 SMs x 128 "
         "lanes x 2)"},
    {.name = "H200",
     .maker = "NVIDIA",
     .year = 2023,
     .memory_gib = 141,
     .memory_bandwidth = 4800 * kGiga,
     .peak_flops = 67 * kTera,
     .products = {.f64 = 67 * kTera,
                  .f32 = 67 * kTera,
                  .tf32 = 494.7 * kTera,
                  .f16 = 989.4 * kTera,
                  .bf16 = 989.4 * kTera,
                  .fp8 = 1978.9 * kTera,
                  .i8 = 1978.9 * kTera},
     .multiprocessors = 132,
     .clock_hz = 1980e6,
     .cache_bytes = 50 * kMiB,
     .fabric = Fabric::kSwitch,
     .link = kNvlink4Port,
     .host = kPcie5Host,
     .network = kDgxH100Network,
     .source = "NVIDIA H200 data sheet (2024), SXM: memory; the rest is that of H100, of which it "
               "has the chip"},
    {.name = "B200",
     .maker = "NVIDIA",
     .year = 2024,
     .memory_gib = 180,
     .memory_bandwidth = 7700 * kGiga,
     .peak_flops = 75 * kTera,
     .products = {.f64 = 37 * kTera,
                  .f32 = 75 * kTera,
                  .tf32 = 1100 * kTera,
                  .f16 = 2250 * kTera,
                  .bf16 = 2250 * kTera,
                  .fp8 = 4500 * kTera,
                  .i8 = 4500 * kTera},
     .multiprocessors = 148,
     .clock_hz = 1980e6,
     .cache_bytes = 126 * kMiB,
     .fabric = Fabric::kSwitch,
     .link = kNvlink5Port,
     .host = kPcie5Host,
     .network = kDgxH100Network,
     .source =
         "NVIDIA Blackwell data sheet (2025), HGX B200: peaks (halved: printed with "
         "sparsity), memory; SMs and L2 as the driver reports them; clock derived: f32 / (148 "
         "SMs x 128 lanes x 2)"},
    {.name = "RTX5090",
     .maker = "NVIDIA",
     .year = 2025,
     .memory_gib = 32,
     .memory_bandwidth = 1792 * kGiga,
     .peak_flops = 104.8 * kTera,
     .products = {.f64 = 1.64 * kTera,
                  .f32 = 104.8 * kTera,
                  .tf32 = 104.8 * kTera,
                  .f16 = 209.5 * kTera,
                  .bf16 = 209.5 * kTera,
                  .fp8 = 419 * kTera,
                  .i8 = 838 * kTera},
     .multiprocessors = 170,
     .clock_hz = 2407e6,
     .cache_bytes = 96 * kMiB,
     .peer_access = false,
     .host = kPcie5Host,
     .network = kServerNetwork,
     .source = "NVIDIA RTX Blackwell white paper (2025), f16 and fp8 with f32 accumulation; f64 "
               "derived: 1/64 of f32"},

    // --- AMD ---
    // One of the two dies of a card, since both the driver and programs see them as two devices:
    // half of the card's figures.
    {.name = "MI250X",
     .maker = "AMD",
     .year = 2021,
     .unit = "GCD",
     .memory_gib = 64,
     .memory_bandwidth = 1638.4 * kGiga,
     .peak_flops = 23.95 * kTera,
     .products = {.f64 = 47.85 * kTera,
                  .f32 = 47.85 * kTera,
                  .f16 = 191.5 * kTera,
                  .bf16 = 191.5 * kTera,
                  .i8 = 191.5 * kTera},
     .multiprocessors = 110,
     .clock_hz = 1700e6,
     .cache_bytes = 8 * kMiB,
     .fabric = Fabric::kMesh,
     .link = kInfinityFabric2,
     .mesh = &kGcdMesh,
     .host = kPcie4Host,
     .network = kFrontierNetwork,
     .source =
         "AMD Instinct MI250X data sheet (2021), halved for one of its two dies; CDNA 2 white "
         "paper (2021): L2"},
    {.name = "MI210",
     .maker = "AMD",
     .year = 2022,
     .memory_gib = 64,
     .memory_bandwidth = 1638.4 * kGiga,
     .peak_flops = 22.6 * kTera,
     .products = {.f64 = 45.3 * kTera,
                  .f32 = 45.3 * kTera,
                  .f16 = 181 * kTera,
                  .bf16 = 181 * kTera,
                  .i8 = 181 * kTera},
     .multiprocessors = 104,
     .clock_hz = 1700e6,
     .cache_bytes = 8 * kMiB,
     .bridge = kInfinityFabric2,
     .bridged_cards = 4,
     .bridge_included = true,
     .host = kPcie4Host,
     .network = kServerNetwork,
     .source = "AMD Instinct MI210 data sheet (2022): peaks, memory, one Infinity Fabric link "
               "between each two of four bridged cards; CDNA 2 white paper (2021): L2"},
    {.name = "MI300X",
     .maker = "AMD",
     .year = 2023,
     .memory_gib = 192,
     .memory_bandwidth = 5300 * kGiga,
     .peak_flops = 163.4 * kTera,
     .products = {.f64 = 163.4 * kTera,
                  .f32 = 163.4 * kTera,
                  .tf32 = 653.7 * kTera,
                  .f16 = 1307.4 * kTera,
                  .bf16 = 1307.4 * kTera,
                  .fp8 = 2614.9 * kTera,
                  .i8 = 2614.9 * kTera},
     .multiprocessors = 304,
     .clock_hz = 2100e6,
     .cache_bytes = 256 * kMiB,
     .kernels = &kCdna3Kernels,
     .fabric = Fabric::kMesh,
     .link = kInfinityFabric3,
     .mesh = &kFullMesh,
     .host = kPcie5Host,
     .network = kDgxH100Network,
     .source = "AMD Instinct MI300X data sheet (2023): peaks, memory, Infinity Cache"},

    // --- Google ---
    // Matrix units take bf16 and int8; a product of f32 (JAX's highest precision) is six of bf16.
    {.name = "TPUv4",
     .device_name = "tpu",
     .maker = "Google",
     .year = 2021,
     .memory_gib = 32,
     .memory_bandwidth = 1200 * kGiga,
     .peak_flops = 4.3 * kTera,
     .products = {.f32 = 45.8 * kTera, .bf16 = 275 * kTera, .i8 = 275 * kTera},
     .multiprocessors = 2,
     .clock_hz = 1050e6,
     .cache_bytes = 128 * kMiB,
     .kernels = &kSystolicKernels,
     .fabric = Fabric::kSwitch,
     .link = kIciPort,
     .ports = 6,
     .host = kPcie3Host,
     .network = kTpuV4Network,
     .source =
         "Jouppi et al., TPU v4 (2023): peaks, memory, cores, clock, CMEM; f32 outside matrix "
         "units derived: 2 cores x 128 lanes x 16 ALUs x clock; f32 products derived: bf16 / 6"},
    {.name = "TPUv5e",
     .device_name = "tpu",
     .maker = "Google",
     .year = 2023,
     .memory_gib = 16,
     .memory_bandwidth = 819 * kGiga,
     .peak_flops = 6.1 * kTera,
     .products = {.f32 = 32.8 * kTera, .bf16 = 197 * kTera, .i8 = 393 * kTera},
     .multiprocessors = 1,
     .clock_hz = 1500e6,
     .cache_bytes = 128 * kMiB,
     .kernels = &kSystolicKernels,
     .fabric = Fabric::kSwitch,
     .link = kIciPort,
     .ports = 4,
     .host = kPcie3Host,
     .network = kTpuV5eNetwork,
     .source =
         "Cloud TPU v5e documentation (2023): peaks, memory; Austin et al., How to Scale Your "
         "Model (2025): VMEM; clock derived: bf16 / (4 matrix units x 128 x 128 x 2); f32 "
         "outside them derived: 128 x 8 lanes x 4 ALUs x clock; f32 products: bf16 / 6"},

    // --- hosts ---
    // Both sockets of a server as one device: 2 x 64 cores with two AVX2 units of 8 lanes.
    {.name = "CPU",
     .device_name = "cpu",
     .maker = "AMD",
     .year = 2019,
     .device_class = DeviceClass::kCpu,
     .memory_gib = 1024,
     .memory_bandwidth = 409.6 * kGiga,
     .peak_flops = 9.2 * kTera,
     .products = {.f64 = 4.6 * kTera, .f32 = 9.2 * kTera},
     .multiprocessors = 128,
     .clock_hz = 2250e6,
     .cache_bytes = 512 * kMiB,
     .host = kPcie4Host,
     .network = kServerNetwork,
     .source = "AMD EPYC 7742 product page (2019), two of them as in NVIDIA DGX A100 (2020): base "
               "clock, L3, 2 x 8 channels of DDR4-3200, 1 TB; peaks derived: 128 cores x 2 units x "
               "8 lanes (f64: 4) x 2 x clock"},
};

}  // namespace

std::span<const CatalogueEntry> catalogue() {
  return kCatalogue;
}

const CatalogueEntry& host_entry() {
  return std::end(kCatalogue)[-1];
}

std::string kind_name(const CatalogueEntry& entry) {
  for (const CatalogueEntry& first : kCatalogue) {
    if (first.name != entry.name) continue;
    if (first.memory_gib != entry.memory_gib) {
      return fmt::format("{}-{}GB", entry.name, entry.memory_gib);
    }
    break;
  }
  return std::string(entry.name);
}

Hardware catalogue_hardware(const CatalogueEntry& entry) {
  Hardware hardware{.multiprocessors = entry.multiprocessors,
                    .clock_hz = entry.clock_hz,
                    .cache_bytes = entry.cache_bytes};
  const auto set = [&](ElementType type, double flops) {
    hardware.product_flops[static_cast<std::size_t>(type)] = flops;
  };
  set(ElementType::kF64, entry.products.f64);
  set(ElementType::kF32, entry.products.f32);
  set(ElementType::kTf32, entry.products.tf32);
  set(ElementType::kF16, entry.products.f16);
  set(ElementType::kBf16, entry.products.bf16);
  set(ElementType::kFp8, entry.products.fp8);
  set(ElementType::kI8, entry.products.i8);
  if (entry.kernels != nullptr) hardware.kernels = *entry.kernels;
  return hardware;
}

// The cores of a host, which compute every operation together, lose more than one core does: each
// operation wakes and joins all threads, which takes about 10 us for 128 of them, half of all
// memory is beyond the other socket, and operations are rarely large enough to occupy every core.
// The shares of the peaks are half of those that a single core is assumed to reach.
void slow_down_many_cores(DeviceKind& kind) {
  constexpr double kForkAndJoinSeconds = 10e-6, kShare = 0.5;
  kind.launch_overhead_seconds = kForkAndJoinSeconds;
  const auto slow_down = [](EfficiencyTable& table) {
    for (EfficiencyPoint& point : table.points) {
      point.efficiency.compute *= kShare;
      point.efficiency.memory *= kShare;
    }
  };
  slow_down(kind.default_efficiency);
  for (auto& [op, table] : kind.efficiency_by_op) slow_down(table);
}

DeviceKind catalogue_kind(const CatalogueEntry& entry) {
  DeviceKind kind{.name = kind_name(entry), .device_class = entry.device_class};
  kind.peak_flops = entry.peak_flops;
  kind.memory_bandwidth = entry.memory_bandwidth;
  set_roofline_figures(kind);
  if (entry.device_class == DeviceClass::kAccelerator) {
    kind.hardware = catalogue_hardware(entry);
  } else {
    slow_down_many_cores(kind);
  }
  return kind;
}

std::string link_words(const CatalogueEntry& entry) {
  const auto words = [](const Link& link, std::string_view form, double count = 1.0) {
    return fmt::format("{} {} {:.4g}", link.name, form, count * link.bandwidth / 1e9);
  };
  if (entry.device_class == DeviceClass::kCpu) return "slots of the cards";
  switch (entry.fabric) {
    case Fabric::kSwitch:
      return entry.ports > 1 ? words(entry.link, fmt::format("{} x", entry.ports))
                             : words(entry.link, "switch");
    case Fabric::kMesh: {
      const auto& links = entry.mesh->front();
      return words(entry.link, "mesh", *std::max_element(links.begin(), links.end()));
    }
    case Fabric::kPcie:
      break;
  }
  if (entry.bridge_included) {
    return words(entry.bridge, entry.bridged_cards == 2 ? "pairs" : "fours");
  }
  // "PCIe 4" of "PCIe 4.0 x16".
  const std::string_view slot = entry.host.slot.name;
  return fmt::format("{}{}", slot.substr(0, slot.find('.')),
                     entry.peer_access ? "" : " through the host");
}

}  // namespace doppler::device
