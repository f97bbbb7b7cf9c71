#include "doppler/device/hardware.h"

#include <fmt/format.h>

#include <array>

namespace doppler::device {
namespace {

// PCI Express Base Specification: 8, 16, 32 GT/s per lane, 16 lanes, 128b/130b coding, 8 bits a
// byte: 8e9 x 16 x 128/130 / 8 = 15.75e9 bytes/s in each direction, doubling with each generation.
constexpr PcieLink kPcie3{"PCIe 3.0 x16", 15.754e9};
constexpr PcieLink kPcie4{"PCIe 4.0 x16", 31.508e9};
constexpr PcieLink kPcie5{"PCIe 5.0 x16", 63.015e9};

// NVIDIA DGX-1 data sheet (V100): 4 x InfiniBand EDR, 100 Gb/s, for 8 GPUs.
constexpr Network kDgx1Network{"100 Gb/s InfiniBand EDR", 12.5e9, 2};
// NVIDIA DGX A100 data sheet: 8 x single-port ConnectX-6, 200 Gb/s, for 8 GPUs.
constexpr Network kDgxA100Network{"200 Gb/s InfiniBand HDR", 25e9, 1};
// NVIDIA DGX H100 data sheet: 8 x ConnectX-7, 400 Gb/s, for 8 GPUs.
constexpr Network kDgxH100Network{"400 Gb/s InfiniBand NDR", 50e9, 1};
// Servers with PCIe cards have no reference design; one 100 Gb/s port per machine is what the large
// clouds offer with 8 x T4, A10G or L4.
constexpr Network kServerNetwork{"100 Gb/s Ethernet", 12.5e9, kAllGpus};

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

constexpr Accelerator kAccelerators[] = {
    // NVIDIA Tesla P100 PCIe data sheet (2016): 9.3 TFLOP/s single precision, 16 GB at 732 GB/s or
    // 12 GB at 549 GB/s, PCIe 3.0 x16.
    {"P100", 16, 9.3 * kTera, 732 * kGiga, Fabric::kPcie, "", 0, kPcie3, kServerNetwork},
    {"P100", 12, 9.3 * kTera, 549 * kGiga, Fabric::kPcie, "", 0, kPcie3, kServerNetwork},
    // NVIDIA V100 Tensor Core GPU data sheet (2020), SXM2: 15.7 TFLOP/s single precision, 32 or 16
    // GB at 900 GB/s. NVIDIA Tesla V100 white paper (2017): 6 NVLinks, each 25 GB/s per direction.
    {"V100", 32, 15.7 * kTera, 900 * kGiga, Fabric::kCubeMesh, "NVLink 2", 25 * kGiga, kPcie3,
     kDgx1Network},
    {"V100", 16, 15.7 * kTera, 900 * kGiga, Fabric::kCubeMesh, "NVLink 2", 25 * kGiga, kPcie3,
     kDgx1Network},
    // NVIDIA A100 Tensor Core GPU data sheet (2021), SXM: 19.5 TFLOP/s FP32, 80 GB at 2039 GB/s or
    // 40 GB at 1555 GB/s, NVLink 600 GB/s (both directions together), PCIe 4.0.
    {"A100", 80, 19.5 * kTera, 2039 * kGiga, Fabric::kSwitch, "NVLink 3", 300 * kGiga, kPcie4,
     kDgxA100Network},
    {"A100", 40, 19.5 * kTera, 1555 * kGiga, Fabric::kSwitch, "NVLink 3", 300 * kGiga, kPcie4,
     kDgxA100Network},
    // NVIDIA H100 Tensor Core GPU data sheet (2023), SXM: 67 TFLOP/s FP32, 80 GB at 3.35 TB/s,
    // NVLink 900 GB/s (both directions together), PCIe 5.0.
    {"H100", 80, 67 * kTera, 3350 * kGiga, Fabric::kSwitch, "NVLink 4", 450 * kGiga, kPcie5,
     kDgxH100Network},
    // NVIDIA T4 Tensor Core GPU product brief (2019): 8.1 TFLOP/s single precision, 16 GB at up to
    // 320 GB/s, PCIe 3.0 x16.
    {"T4", 16, 8.1 * kTera, 320 * kGiga, Fabric::kPcie, "", 0, kPcie3, kServerNetwork},
    // NVIDIA A10 Tensor Core GPU data sheet (2021): 31.2 TFLOP/s FP32, 24 GB at 600 GB/s, PCIe 4.0.
    {"A10", 24, 31.2 * kTera, 600 * kGiga, Fabric::kPcie, "", 0, kPcie4, kServerNetwork},
    // NVIDIA L4 Tensor Core GPU data sheet (2023): 30.3 TFLOP/s FP32, 24 GB at 300 GB/s, PCIe 4.0
    // x16.
    {"L4", 24, 30.3 * kTera, 300 * kGiga, Fabric::kPcie, "", 0, kPcie4, kServerNetwork},
};

// From issuing a kernel to its start, where the queue is empty. "Getting Started with CUDA Graphs"
// (NVIDIA technical blog, 2019) measures 9.6 us per launch and synchronisation of a 2.9 us kernel
// on a V100 and 3.8 us per kernel of a full queue; an asynchronous engine that launches a node when
// its last input arrives lies between the two.
constexpr double kGpuLaunchSeconds = 5e-6;
// Waking a waiting thread: a futex round trip on Linux takes a few microseconds.
constexpr double kCpuLaunchSeconds = 3e-6;

// Shares of the peaks that kernels reach. The rationale:
//  - Dense products stay close to the arithmetic peak: vendor BLAS reaches 80 to 95 % on large
//    matrices and less on the smaller ones that sharding leaves; 0.75 is in between.
//  - Factorisations of one tile have little parallelism: a quarter of the peak. Triangular solves
//    lie between these and products.
//  - Everything elementwise is limited by memory; STREAM-like kernels reach 75 to 93 % of the
//    data sheet's bandwidth on these GPUs (lowest on P100): 0.8. That is also the default, with
//    half the arithmetic peak since few such kernels are pure multiply-adds.
//  - Reductions and normalisations read once but synchronise: 0.65. Kernels that gather, scatter or
//    permute touch memory in short pieces: 0.4.
constexpr Efficiency kElementwise{0.5, 0.8};
constexpr Efficiency kProduct{0.75, 0.8};
constexpr Efficiency kSolve{0.5, 0.8};
constexpr Efficiency kFactorisation{0.25, 0.8};
constexpr Efficiency kReduction{0.5, 0.65};
constexpr Efficiency kPermutation{0.5, 0.4};

Efficiency efficiency_of(OpFamily family) {
  switch (family) {
    case OpFamily::kProduct:
      return kProduct;
    case OpFamily::kSolve:
      return kSolve;
    case OpFamily::kFactorisation:
      return kFactorisation;
    case OpFamily::kReduction:
      return kReduction;
    case OpFamily::kPermutation:
      return kPermutation;
  }
  return kElementwise;
}

constexpr OpInFamily kOps[] = {
    {"contract", OpFamily::kProduct},
    {"matmul", OpFamily::kProduct},
    {"MatMul", OpFamily::kProduct},
    {"gemm", OpFamily::kProduct},
    {"Gemm", OpFamily::kProduct},
    {"batch_matmul", OpFamily::kProduct},
    {"einsum", OpFamily::kProduct},
    {"Einsum", OpFamily::kProduct},
    {"dot", OpFamily::kProduct},
    {"conv", OpFamily::kProduct},
    {"Conv", OpFamily::kProduct},
    {"convolution", OpFamily::kProduct},
    {"ConvTranspose", OpFamily::kProduct},
    {"syrk", OpFamily::kProduct},
    {"trsm", OpFamily::kSolve},
    {"potrf", OpFamily::kFactorisation},
    {"cholesky", OpFamily::kFactorisation},
    {"reduce", OpFamily::kReduction},
    {"reduction", OpFamily::kReduction},
    {"sum", OpFamily::kReduction},
    {"ReduceSum", OpFamily::kReduction},
    {"ReduceMean", OpFamily::kReduction},
    {"softmax", OpFamily::kReduction},
    {"Softmax", OpFamily::kReduction},
    {"layer_norm", OpFamily::kReduction},
    {"LayerNormalization", OpFamily::kReduction},
    {"rms_norm", OpFamily::kReduction},
    {"fft", OpFamily::kReduction},
    {"permute", OpFamily::kPermutation},
    {"transpose", OpFamily::kPermutation},
    {"Transpose", OpFamily::kPermutation},
    {"gather", OpFamily::kPermutation},
    {"Gather", OpFamily::kPermutation},
    {"scatter", OpFamily::kPermutation},
    {"scatter_add", OpFamily::kPermutation},
    {"ScatterND", OpFamily::kPermutation},
};

void set_efficiencies(DeviceKind& kind) {
  kind.default_efficiency = kElementwise;
  for (const OpInFamily& entry : kOps) {
    kind.efficiency_by_op.emplace(entry.op, efficiency_of(entry.family));
  }
}

}  // namespace

std::span<const Accelerator> accelerators() {
  return kAccelerators;
}

std::span<const OpInFamily> op_families() {
  return kOps;
}

int cube_mesh_links(std::uint32_t i, std::uint32_t j) {
  // NVIDIA DGX-1 with Tesla V100 system architecture white paper (2017), the hybrid cube mesh, with
  // the counts that `nvidia-smi topo -m` prints on such a machine (NV1, NV2). Two quads, each fully
  // connected, and one edge from each GPU to its counterpart; 6 links leave every GPU.
  static constexpr std::array<std::array<std::uint8_t, 8>, 8> kLinks = {{
      {0, 1, 1, 2, 2, 0, 0, 0},
      {1, 0, 2, 1, 0, 2, 0, 0},
      {1, 2, 0, 2, 0, 0, 1, 0},
      {2, 1, 2, 0, 0, 0, 0, 1},
      {2, 0, 0, 0, 0, 1, 1, 2},
      {0, 2, 0, 0, 1, 0, 2, 1},
      {0, 0, 1, 0, 1, 2, 0, 2},
      {0, 0, 0, 1, 2, 1, 2, 0},
  }};
  return kLinks[i][j];
}

DeviceKind accelerator_kind(const Accelerator& model) {
  DeviceKind kind{.name = std::string(model.name)};
  for (const Accelerator& first : kAccelerators) {
    if (first.name != model.name) continue;
    if (first.memory_gib != model.memory_gib) kind.name += fmt::format("-{}GB", model.memory_gib);
    break;
  }
  kind.peak_flops = model.peak_flops;
  kind.memory_bandwidth = model.memory_bandwidth;
  kind.launch_overhead_seconds = kGpuLaunchSeconds;
  set_efficiencies(kind);
  return kind;
}

DeviceKind generic_cpu_kind() {
  DeviceKind kind{.name = "cpu", .device_class = DeviceClass::kCpu};
  // A 3 GHz core with two 8-lane fused multiply-add units (AVX2): 3e9 x 2 x 8 x 2 = 96e9.
  kind.peak_flops = 96e9;
  // Two channels of DDR4-3200 (JEDEC JESD79-4) carry 2 x 8 x 3.2e9 = 51.2e9; one core draws about a
  // quarter of it.
  kind.memory_bandwidth = 12.8e9;
  kind.launch_overhead_seconds = kCpuLaunchSeconds;
  set_efficiencies(kind);
  return kind;
}

Channel generic_memory_channel() {
  // A copy reads and writes each byte, so it moves at half of what one core draws; the two memory
  // channels above serve four cores, of which copies may use two.
  return {.name = "memory", .bandwidth = 6.4e9, .latency_seconds = 1e-6, .capacity = 2};
}

}  // namespace doppler::device
