// What SEL and PLC prefer before they have learnt anything, added to the scores of the networks: a
// soft list scheduler that keeps siblings together. Training can unlearn it.
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

// Weights of features where the prior is kList. The first two make a list scheduler; the third is
// larger than they need, since trainings without it find out late, or never, that siblings belong
// together.
inline constexpr double kPriorOfBLevel = 8.0;        // SEL: b-level over critical path
inline constexpr double kPriorOfLateEnd = -2.0;      // PLC: ends later than elsewhere
inline constexpr double kPriorOfSiblingsNear = 6.0;  // PLC

}  // namespace doppler::policy
