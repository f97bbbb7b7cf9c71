// What the program understood, in words.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/base/json_writer.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/metrics.h"

namespace doppler::render {

std::string_view objective_name(schedule::Objective objective);  // "nominal", "robust", "any-order"

// Graph, devices, costs and links, a line each, ended by newlines.
std::string describe_problem(const cost::Problem& problem, const std::string& graph_path);

// The keys that every result about a problem starts with.

// Where a graph comes from, and what its reader dropped or guessed.
struct GraphOrigin {
  GraphOrigin(std::string graph_path, std::vector<std::string> reader_notes = {})
      : path(std::move(graph_path)), notes(std::move(reader_notes)) {}
  GraphOrigin(const char* graph_path) : path(graph_path) {}

  std::string path;
  std::vector<std::string> notes;
};

// Graph, devices, links, costs and the unit of time, into the object that is open.
void write_subject(JsonWriter& json, const cost::Problem& problem, const GraphOrigin& origin);

}  // namespace doppler::render
