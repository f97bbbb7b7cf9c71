// What was found of the simulator's fidelity, for people: words at most 100 columns wide, a table
// for spreadsheets, a picture.
#pragma once

#include <string>

#include "doppler/analysis/fidelity.h"
#include "doppler/cost/problem.h"
#include "doppler/render/problem_text.h"

namespace doppler::render {

// What `fidelity` prints after describe_problem.
std::string fidelity_text(const cost::Problem& problem, const analysis::FidelitySettings& settings,
                          const analysis::Fidelity& fidelity);

// A row for each placement, after one of titles: placement, origin, predicted, measured, min, max,
// noise. Times are in the problem's unit.
std::string fidelity_csv(const analysis::Fidelity& fidelity);

// Predicted over measured, of all placements and of those near the best, as SVG.
std::string fidelity_picture(const cost::Problem& problem, const analysis::Fidelity& fidelity);

// The simulator's fidelity as JSON (docs/command.md names the keys).

// What `fidelity --json` prints.
std::string fidelity_json(const cost::Problem& problem, const GraphOrigin& origin,
                          const analysis::FidelitySettings& settings,
                          const analysis::Fidelity& fidelity);

}  // namespace doppler::render
