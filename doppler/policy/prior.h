// What SEL and PLC prefer before they have learnt anything, added to the scores of the networks: a
// soft list scheduler that keeps siblings together. Training can unlearn it. Without it whether a
// training on many graphs ever finds out that siblings belong together is a matter of luck
// (docs/learning.md).
#pragma once

#include <cstdint>
#include <string_view>

namespace doppler::policy {

enum class Prior : std::uint8_t {
  kNone,
  kList,
};
std::string_view prior_name(Prior prior);
// Throws ParameterError that lists the known names.
Prior prior_named(std::string_view name);

// Weights of features where the prior is kList. Found by training on 266 generated problems; half
// or twice as much makes little difference.
inline constexpr double kPriorOfBLevel = 8.0;        // SEL: b-level over critical path
inline constexpr double kPriorOfLateEnd = -2.0;      // PLC: ends later than elsewhere
inline constexpr double kPriorOfSiblingsNear = 6.0;  // PLC

}  // namespace doppler::policy
