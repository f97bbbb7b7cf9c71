// What a user demands of a placement, by patterns over names, and how it becomes constraints of one
// graph on one topology.
//
// A pattern is a glob: * stands for any characters, ? for one, [abc] and [a-c] for one of a set,
// [!a-c] for one outside it, and \ takes the next character as it is. It must fit the whole name.
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

struct ConstraintRules {
  struct NodeRule {
    std::string nodes;    // pattern
    std::string devices;  // pattern
  };
  struct MemoryRule {
    std::string devices;  // pattern
    std::uint64_t bytes;
  };

  std::vector<NodeRule> pins = {};     // on one of these devices
  std::vector<NodeRule> forbids = {};  // on none of these devices
  // What any of the patterns of a group fits shares a device.
  std::vector<std::vector<std::string>> colocate = {};
  std::vector<MemoryRule> memory = {};  // a later rule wins

  // Those come after these.
  void add(const ConstraintRules& more);
  bool empty() const {
    return pins.empty() && forbids.empty() && colocate.empty() && memory.empty();
  }
};

bool glob_matches(std::string_view pattern, std::string_view text);

// Throws ParameterError where a pattern fits no node or no device: a slip, most likely.
graph::Constraints resolve(const ConstraintRules& rules, const graph::Graph& graph,
                           const device::Topology& topology);

// A file of rules (docs/formats/constraints.md). Throws InputError with file:line:column.
ConstraintRules read_constraint_rules_json(const std::string& file, std::string_view text);

// Rules as a part of another file: an object with the keys of a file of rules, but for format and
// version.
ConstraintRules read_constraint_rules(JsonReader& reader);
void write_constraint_rules(JsonWriter& json, const ConstraintRules& rules);

}  // namespace doppler::cost
