// Measured costs as JSON files (docs/formats/costs.md).
#pragma once

#include <string>
#include <string_view>

#include "doppler/cost/measured_costs.h"
#include "doppler/graph/graph.h"

namespace doppler::cost {

// REQUIRES: the costs are those of this graph.
std::string write_measured_costs_json(const graph::Graph& graph, const MeasuredCosts& costs);

// Resolves names in the graph. Throws InputError with the place where the file is damaged or was
// measured for another graph: its hash differs or a name is unknown.
MeasuredCosts read_measured_costs_json(const std::string& file, std::string_view text,
                                       const graph::Graph& graph);

}  // namespace doppler::cost
