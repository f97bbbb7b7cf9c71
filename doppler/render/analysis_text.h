// Answers of doppler/analysis as people read them, and as JSON.
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

// A few lines of text, each ended by a newline.
std::string limits_text(const cost::Problem& problem, const schedule::Placement& placement,
                        const analysis::Limits& limits);

std::string explanation_text(const cost::Problem& problem,
                             const analysis::NodeExplanation& explanation);
std::string explanation_json(const cost::Problem& problem, const std::string& graph_path,
                             const analysis::NodeExplanation& explanation);

std::string diff_text(const cost::Problem& problem, const analysis::PlacementDiff& diff);
// `names` are those of the two placements.
std::string diff_json(const cost::Problem& problem, const std::string& graph_path,
                      const std::array<std::string, 2>& names, const analysis::PlacementDiff& diff);

std::string what_if_text(const cost::Problem& problem,
                         const std::vector<analysis::WhatIfCase>& cases);
std::string what_if_json(const cost::Problem& problem, const std::string& graph_path,
                         const std::vector<analysis::WhatIfCase>& cases);

}  // namespace doppler::render
