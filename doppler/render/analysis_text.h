// The answers of doppler/analysis as text, in lines of at most 100 columns that each end with a
// newline, and as JSON objects, whose keys docs/command.md names.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "doppler/analysis/explain_node.h"
#include "doppler/analysis/limits.h"
#include "doppler/analysis/placement_diff.h"
#include "doppler/analysis/what_if.h"
#include "doppler/cost/problem.h"
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

}  // namespace doppler::render
