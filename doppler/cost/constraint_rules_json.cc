#include "doppler/base/json_object.h"
#include "doppler/base/json_reader.h"
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

}  // namespace

ConstraintRules read_constraint_rules_json(const std::string& file, std::string_view text) {
  JsonReader reader(file, text);
  JsonFormatKeys format("doppler.constraints", kNewestVersion);
  ConstraintRules rules;
  read_json_object(reader, "the constraints", [&](const std::string& key) {
    if (format.read(reader, key)) return true;
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
  });
  reader.finish();
  format.require(reader);
  return rules;
}

}  // namespace doppler::cost
