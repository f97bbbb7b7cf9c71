// The simulator's fidelity as JSON (docs/command.md names the keys).
#pragma once

#include <string>

#include "doppler/cost/problem.h"
#include "doppler/study/fidelity.h"
#include "doppler/study/subject_json.h"

namespace doppler::study {

// What `fidelity --json` prints.
std::string fidelity_json(const cost::Problem& problem, const GraphOrigin& origin,
                          const FidelitySettings& settings, const Fidelity& fidelity);

}  // namespace doppler::study
