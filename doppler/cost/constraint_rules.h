// A user's demands on placements, as patterns over the names of nodes and devices, with their
// reading, writing, and resolution to the constraints of one graph on one topology.
//
// A pattern is a glob: * stands for any characters, ? for one, [abc] and [a-c] for one of a set,
// [!a-c] for one outside it, and \ takes the next character as it is. It must match the whole name.
//
// Plain values and pure functions, so safe to use from several threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/device/topology.h"
#include "doppler/graph/graph.h"

namespace doppler {
class JsonReader;
class JsonWriter;
}  // namespace doppler

namespace doppler::cost {

// Rules in the order in which the user gave them.
struct ConstraintRules {
  struct NodeRule {
    std::string nodes;    // pattern
    std::string devices;  // pattern
  };
  struct MemoryRule {
    std::string devices;  // pattern
    std::uint64_t bytes;
  };

  std::vector<NodeRule> pins = {};     // the nodes run on one of these devices
  std::vector<NodeRule> forbids = {};  // the nodes run on none of these devices
  // All nodes that match any pattern of a group share one device.
  std::vector<std::vector<std::string>> colocate = {};
  std::vector<MemoryRule> memory = {};  // capacities; a later rule replaces an earlier one

  // Appends other rules behind these.
  void add(const ConstraintRules& more);
  bool empty() const {
    return pins.empty() && forbids.empty() && colocate.empty() && memory.empty();
  }
};

bool glob_matches(std::string_view pattern, std::string_view text);

// Returns the constraints that the rules make for this graph on this topology. Throws
// ParameterError if a pattern matches no node or no device, since that is most likely a mistake.
graph::Constraints resolve(const ConstraintRules& rules, const graph::Graph& graph,
                           const device::Topology& topology);

// Reads a file of rules (docs/formats/constraints.md). Throws InputError with file:line:column.
ConstraintRules read_constraint_rules_json(const std::string& file, std::string_view text);

// Reads or writes rules as a part of another file: an object with the keys of a file of rules
// except format and version. Reading throws InputError with the position.
ConstraintRules read_constraint_rules(JsonReader& reader);
void write_constraint_rules(JsonWriter& json, const ConstraintRules& rules);

}  // namespace doppler::cost
