// The measured fidelity of the simulator as text, JSON, a table for spreadsheets, and a picture.
#pragma once

#include <string>

#include "doppler/analysis/fidelity.h"
#include "doppler/cost/problem.h"
#include "doppler/render/problem_text.h"

namespace doppler::render {

// Returns the findings in lines of at most 100 columns.
std::string fidelity_text(const cost::Problem& problem, const analysis::FidelitySettings& settings,
                          const analysis::Fidelity& fidelity);

// Returns a row of titles (placement, origin, predicted, measured, min, max, noise, moved_bytes),
// then a row for each placement. Times are in the problem's unit.
std::string fidelity_csv(const analysis::Fidelity& fidelity);

// Returns an SVG picture of predicted over measured times: of all placements, and of those near the
// best.
std::string fidelity_svg(const cost::Problem& problem, const analysis::Fidelity& fidelity);

// Returns the findings as a JSON object (docs/command.md names the keys).
std::string fidelity_json(const cost::Problem& problem, const GraphOrigin& origin,
                          const analysis::FidelitySettings& settings,
                          const analysis::Fidelity& fidelity);

}  // namespace doppler::render
