#include <algorithm>

#include "doppler/base/json_object.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/json_writer.h"
#include "doppler/cost/constraint_rules.h"

namespace doppler::cost {
namespace {

constexpr std::uint64_t kNewestVersion = 1;
constexpr std::uint64_t kLargestMemory = std::uint64_t{1} << 60;

std::vector<ConstraintRules::NodeRule> read_node_rules(JsonReader& reader) {
  std::vector<ConstraintRules::NodeRule> rules;
  reader.begin_array();
  while (reader.next_element()) {
    ConstraintRules::NodeRule& rule = rules.emplace_back();
    const std::size_t at = read_json_object(reader, "a rule", [&](const std::string& key) {
      if (key == "nodes") {
        rule.nodes = reader.string();
      } else if (key == "devices") {
        rule.devices = reader.string();
      } else {
        return false;
      }
      return true;
    });
    if (rule.nodes.empty() || rule.devices.empty()) {
      reader.fail_at(at, "a rule needs 'nodes' and 'devices'");
    }
  }
  return rules;
}

// Whether the key is one of rules.
bool read_key(JsonReader& reader, const std::string& key, ConstraintRules& rules) {
  if (key == "pin") {
    rules.pins = read_node_rules(reader);
  } else if (key == "forbid") {
    rules.forbids = read_node_rules(reader);
  } else if (key == "colocate") {
    reader.begin_array();
    while (reader.next_element()) {
      auto& patterns = rules.colocate.emplace_back();
      if (reader.peek() == JsonReader::Kind::kString) {
        patterns.push_back(reader.string());
        continue;
      }
      reader.begin_array();
      while (reader.next_element()) patterns.push_back(reader.string());
      if (patterns.empty()) reader.fail("a group without patterns");
    }
  } else if (key == "memory") {
    read_json_object(reader, "'memory'", [&](const std::string& device) {
      rules.memory.push_back({device, reader.unsigned_integer(kLargestMemory)});
      return true;
    });
  } else {
    return false;
  }
  return true;
}

void write_node_rules(JsonWriter& json, std::string_view key,
                      const std::vector<ConstraintRules::NodeRule>& rules) {
  if (rules.empty()) return;
  json.key(key).begin_array(JsonLayout::kCompact);
  for (const auto& rule : rules) {
    json.begin_object(JsonLayout::kCompact);
    json.field("nodes", rule.nodes).field("devices", rule.devices).end_object();
  }
  json.end_array();
}

}  // namespace

ConstraintRules read_constraint_rules_json(const std::string& file, std::string_view text) {
  JsonReader reader(file, text);
  JsonFormatKeys format("doppler.constraints", kNewestVersion);
  ConstraintRules rules;
  read_json_object(reader, "the constraints", [&](const std::string& key) {
    return format.read(reader, key) || read_key(reader, key, rules);
  });
  reader.finish();
  format.require(reader);
  return rules;
}

ConstraintRules read_constraint_rules(JsonReader& reader) {
  ConstraintRules rules;
  read_json_object(reader, "the constraints",
                   [&](const std::string& key) { return read_key(reader, key, rules); });
  return rules;
}

void write_constraint_rules(JsonWriter& json, const ConstraintRules& rules) {
  json.begin_object();
  write_node_rules(json, "pin", rules.pins);
  write_node_rules(json, "forbid", rules.forbids);
  if (!rules.colocate.empty()) {
    json.key("colocate").begin_array(JsonLayout::kCompact);
    for (const std::vector<std::string>& patterns : rules.colocate) {
      json.begin_array(JsonLayout::kCompact);
      for (const std::string& pattern : patterns) json.value(pattern);
      json.end_array();
    }
    json.end_array();
  }
  if (!rules.memory.empty()) {
    json.key("memory").begin_object(JsonLayout::kCompact);
    for (std::size_t i = 0; i < rules.memory.size(); ++i) {
      // Keys stand once: of one pattern's rules only the last counts.
      const bool is_last =
          std::none_of(rules.memory.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                       rules.memory.end(), [&](const ConstraintRules::MemoryRule& later) {
                         return later.devices == rules.memory[i].devices;
                       });
      if (is_last) json.field(rules.memory[i].devices, rules.memory[i].bytes);
    }
    json.end_object();
  }
  json.end_object();
}

}  // namespace doppler::cost
