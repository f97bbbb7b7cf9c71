// What a reader of a foreign format hands over.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doppler/device/topology.h"
#include "doppler/graph/graph.h"

namespace doppler::import {

struct ImportOptions {
  std::map<std::string, std::int64_t> dimensions;  // sizes of symbolic dimensions
};

struct Imported {
  graph::Graph graph;
  std::optional<device::TopologySpec> machine;  // devices and limits that the file brings
  std::vector<std::string> notes;               // what was dropped or guessed, a line each
};

}  // namespace doppler::import
