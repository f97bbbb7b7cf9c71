// The simulator's fidelity as JSON (docs/command.md names the keys).
#pragma once

#include <string>

#include "doppler/analysis/fidelity.h"
#include "doppler/cost/problem.h"
#include "doppler/render/subject_json.h"

namespace doppler::render {

// What `fidelity --json` prints.
std::string fidelity_json(const cost::Problem& problem, const GraphOrigin& origin,
                          const analysis::FidelitySettings& settings,
                          const analysis::Fidelity& fidelity);

}  // namespace doppler::render
