// The answers of doppler/analysis as text, in lines of at most 100 columns that each end with a
// newline, and as JSON objects, whose keys docs/command.md names.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "doppler/analysis/explain_node.h"
#include "doppler/analysis/fidelity.h"
#include "doppler/analysis/limits.h"
#include "doppler/analysis/placement_diff.h"
#include "doppler/analysis/what_if.h"
#include "doppler/cost/problem.h"
#include "doppler/render/problem_text.h"
#include "doppler/schedule/placement.h"

namespace doppler::render {

// Returns a few sentences about what limits a placement.
std::string limits_text(const cost::Problem& problem, const schedule::Placement& placement,
                        const analysis::Limits& limits);

// Return why a node is where it is.
std::string explanation_text(const cost::Problem& problem,
                             const analysis::NodeExplanation& explanation);
std::string explanation_json(const cost::Problem& problem, const std::string& graph_path,
                             const analysis::NodeExplanation& explanation);

// Return what differs between two placements, which are called `names`.
std::string diff_text(const cost::Problem& problem, const analysis::PlacementDiff& diff);
std::string diff_json(const cost::Problem& problem, const std::string& graph_path,
                      const std::array<std::string, 2>& names, const analysis::PlacementDiff& diff);

// Return what changes of the machine would do to a placement.
std::string what_if_text(const cost::Problem& problem,
                         const std::vector<analysis::WhatIfCase>& cases);
std::string what_if_json(const cost::Problem& problem, const std::string& graph_path,
                         const std::vector<analysis::WhatIfCase>& cases);

// Returns how well runs are predicted.
std::string fidelity_text(const cost::Problem& problem, const analysis::FidelitySettings& settings,
                          const analysis::Fidelity& fidelity);
// Returns the same as a JSON object.
std::string fidelity_json(const cost::Problem& problem, const GraphOrigin& origin,
                          const analysis::FidelitySettings& settings,
                          const analysis::Fidelity& fidelity);

// Returns a row of titles (placement, origin, predicted, measured, min, max, noise, moved_bytes),
// then a row for each placement. Times are in the problem's unit.
std::string fidelity_csv(const analysis::Fidelity& fidelity);

// Returns an SVG picture of predicted over measured times: of all placements, and of those near the
// best.
std::string fidelity_svg(const cost::Problem& problem, const analysis::Fidelity& fidelity);

}  // namespace doppler::render
