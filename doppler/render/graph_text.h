// Graphs and plans as text and JSON. docs/command.md names the keys.
#pragma once

#include <functional>
#include <string>

#include "doppler/base/json_writer.h"
#include "doppler/compile/plan_search.h"
#include "doppler/graph/graph.h"

namespace doppler::render {

// Returns the statistics of a graph from the file `path`.
std::string graph_text(const graph::Graph& graph, const std::string& path);
// Returns only the lines about work and traffic.
std::string graph_totals_text(const graph::Graph& graph);
// Returns the statistics as a JSON object, to which `add_keys` may add keys.
std::string graph_json(const graph::Graph& graph, const std::string& path,
                       const std::function<void(JsonWriter&)>& add_keys = {});

// Returns a table of a plan: the parts of each operation, how its operands reach it, and what is
// predicted to be computed and moved.
std::string plan_text(const compile::FoundPlan& found);
// Writes the same as a JSON object.
void plan_json(JsonWriter& json, const compile::FoundPlan& found);

}  // namespace doppler::render
