// A problem as text and JSON: what was understood of the graph, the devices and the costs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "doppler/base/json_writer.h"
#include "doppler/cost/problem.h"

namespace doppler::render {

// Returns the graph, devices, costs and links, each in lines of its own that end with a newline.
std::string problem_text(const cost::Problem& problem, const std::string& graph_path);

// Says which file a graph comes from, and what its reader dropped or guessed.
struct GraphOrigin {
  GraphOrigin(std::string graph_path, std::vector<std::string> reader_notes = {})
      : path(std::move(graph_path)), notes(std::move(reader_notes)) {}
  GraphOrigin(const char* graph_path) : path(graph_path) {}

  std::string path;
  std::vector<std::string> notes;
};

// Writes graph, devices, links, costs and the unit of time into the object that is open: the keys
// that every result about a problem starts with (docs/command.md).
void problem_json(JsonWriter& json, const cost::Problem& problem, const GraphOrigin& origin);

}  // namespace doppler::render
