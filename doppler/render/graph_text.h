// A graph's statistics as `graph show` prints them.
#pragma once

#include <functional>
#include <string>

#include "doppler/base/json_writer.h"
#include "doppler/compile/plan_search.h"
#include "doppler/graph/graph.h"

namespace doppler::render {

std::string graph_text(const graph::Graph& graph, const std::string& path);
// Of that, the lines of work and traffic.
std::string graph_totals_text(const graph::Graph& graph);
// `add_keys` may add to the object.
std::string graph_json(const graph::Graph& graph, const std::string& path,
                       const std::function<void(JsonWriter&)>& add_keys = {});

// A plan as `graph compile --explain` prints it: per operation its parts, how its operands reach
// it, and what is predicted to be computed and moved.

std::string plan_text(const compile::FoundPlan& found);
// The same as an object (docs/command.md).
void write_plan(JsonWriter& json, const compile::FoundPlan& found);

}  // namespace doppler::render
