// What the roofline model of costs assumes of devices beyond their peaks: the overhead of a launch,
// and the shares of the peaks that kernels reach by the name of their op. Where hardware figures
// are known, costs are predicted without these.
//
// The table is constant and the functions pure, so that everything is safe to use from several
// threads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "doppler/device/topology.h"

namespace doppler::device {

// The family of work that an op kind belongs to, unless it is elementwise. It decides the
// efficiencies that the presets assume.
enum class OpFamily : std::uint8_t {
  kProduct,
  kSolve,
  kFactorisation,
  kReduction,
  kPermutation,  // also gathering and scattering
};
struct OpInFamily {
  std::string_view op;  // as our own graphs, ONNX or HLO name it
  OpFamily family;
};
std::span<const OpInFamily> op_families();

// Sets launch overhead and efficiencies of a kind by its class.
void set_roofline_figures(DeviceKind& kind);

}  // namespace doppler::device
