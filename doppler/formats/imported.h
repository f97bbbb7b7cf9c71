// What a reader of a graph format is given and what it gives. Every reader has the form
//
//   Imported read_xyz(const std::string& file, std::string_view bytes, const ImportOptions&);
//
// where `file` names the source in errors and the graph where nothing else does. Readers throw
// InputError with file:line:column, or file and offset where the format is no text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doppler/device/topology.h"
#include "doppler/graph/graph.h"

namespace doppler::formats {

struct ImportOptions {
  std::map<std::string, std::int64_t> dimensions = {};  // sizes of symbolic dimensions, by name
  // The devices that the file brings will be used, so that memory and moves count as it counts
  // them.
  bool own_devices = false;
};

struct Imported {
  graph::Graph graph;
  std::optional<device::TopologySpec> machine = std::nullopt;  // devices that the file brings
  std::vector<std::string> notes = {};  // what was dropped or guessed, a line each
};

}  // namespace doppler::formats
