#include "doppler/device/roofline.h"

#include <string>

namespace doppler::device {
namespace {

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

}  // namespace

std::span<const OpInFamily> op_families() {
  return kOps;
}

void set_roofline_figures(DeviceKind& kind) {
  kind.launch_overhead_seconds =
      kind.device_class == DeviceClass::kCpu ? kCpuLaunchSeconds : kGpuLaunchSeconds;
  kind.default_efficiency = kElementwise;
  for (const OpInFamily& entry : kOps) {
    kind.efficiency_by_op.emplace(entry.op, efficiency_of(entry.family));
  }
}

}  // namespace doppler::device
