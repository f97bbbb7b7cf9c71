#include "doppler/cost/predicted.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "doppler/cost/kernel_times.h"

namespace doppler::cost {
namespace {

using kernel::WorkClass;

// Returns the ops by which topology files and the probe state the efficiency of a class; those of
// our kernels come first.
std::span<const std::string_view> ops_of(WorkClass work_class) {
  static constexpr std::string_view kProducts[] = {"contract", "matmul", "gemm"};
  static constexpr std::string_view kConvolutions[] = {"conv", "contract", "matmul"};
  static constexpr std::string_view kActivations[] = {"exp"};
  static constexpr std::string_view kReductions[] = {"reduce", "softmax"};
  static constexpr std::string_view kGathers[] = {"gather"};
  static constexpr std::string_view kCopies[] = {"permute"};
  static constexpr std::string_view kSolves[] = {"trsm"};
  static constexpr std::string_view kFactorisations[] = {"potrf"};
  switch (work_class) {
    case WorkClass::kProduct:
    case WorkClass::kAttention:
    case WorkClass::kRecurrence:
      return kProducts;
    case WorkClass::kConvolution:
      return kConvolutions;
    case WorkClass::kActivation:
    case WorkClass::kGated:
      return kActivations;
    case WorkClass::kNorm:
    case WorkClass::kSoftmax:
    case WorkClass::kReduction:
      return kReductions;
    case WorkClass::kGather:
      return kGathers;
    case WorkClass::kCopy:
      return kCopies;
    case WorkClass::kSolve:
      return kSolves;
    case WorkClass::kFactorisation:
      return kFactorisations;
    case WorkClass::kElementwise:
      break;
  }
  return {};
}

const device::EfficiencyTable& efficiency_of(const device::DeviceKind& kind, const std::string& op,
                                             WorkClass work_class) {
  const auto& by_op = kind.efficiency_by_op;
  if (const auto own = by_op.find(op); own != by_op.end()) return own->second;
  for (const std::string_view name : ops_of(work_class)) {
    if (const auto found = by_op.find(std::string(name)); found != by_op.end()) {
      return found->second;
    }
  }
  return kind.default_efficiency;
}

// Returns the time by efficiencies alone, of one run; nothing where nothing is known of the kernel
// or of the device.
std::optional<double> roofline_seconds(const device::DeviceKind& kind, const std::string& op,
                                       const KernelRun& run) {
  const device::Efficiency share = efficiency_of(kind, op, run.work_class).of(run.flops, run.bytes);
  // Vectors hold half as many numbers of 64 bits.
  const double wide = run.type == ElementType::kF64 ? 2.0 : 1.0;
  std::optional<double> seconds;
  if (run.flops && kind.peak_flops) {
    seconds = wide * *run.flops / (*kind.peak_flops * share.compute);
  }
  if (run.bytes && kind.memory_bandwidth) {
    seconds = std::max(seconds.value_or(0.0), *run.bytes / (*kind.memory_bandwidth * share.memory));
  }
  return seconds;
}

}  // namespace

std::optional<double> Predicted::node_time(const graph::Graph& graph, NodeId node,
                                           const device::DeviceKind& kind) const {
  std::vector<KernelRun> runs;
  runs_.of(node, runs);
  const bool hardware = kind.hardware && kind.peak_flops && kind.memory_bandwidth;
  const std::string& op = graph.op_kinds()[graph.op_kind_index(node)];
  const double launch =
      hardware ? kind.hardware->kernels.launch_seconds : kind.launch_overhead_seconds;
  double sum = 0.0;
  for (const KernelRun& run : runs) {
    const auto seconds = hardware ? kernel_seconds(kind, run) : roofline_seconds(kind, op, run);
    if (!seconds) return std::nullopt;
    // What neither computes nor moves anything, such as a view, launches no kernel.
    if (hardware && run.flops.value_or(0.0) == 0.0 && run.bytes.value_or(0.0) == 0.0) continue;
    sum += run.count * (*seconds + launch);
  }
  return sum;
}

}  // namespace doppler::cost
