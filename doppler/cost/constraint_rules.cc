#include "doppler/cost/constraint_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "doppler/base/error.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/json_writer.h"

namespace doppler::cost {

void ConstraintRules::add(const ConstraintRules& more) {
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(pins, more.pins);
  append(forbids, more.forbids);
  append(colocate, more.colocate);
  append(memory, more.memory);
}

// --- patterns ---

namespace {

// Returns whether the set that begins after '[' contains c, and sets `after` behind its ']'.
// Returns nothing if the set has no end: then '[' stands for itself.
std::optional<bool> set_contains(std::string_view pattern, std::size_t start, char c,
                                 std::size_t& after) {
  std::size_t i = start;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  for (bool first = true; i < pattern.size(); first = false) {
    if (pattern[i] == ']' && !first) {
      after = i + 1;
      return found != negated;
    }
    char high = pattern[i];
    const char low = pattern[i];
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      high = pattern[i + 2];
      i += 2;
    }
    found |= low <= c && c <= high;
    ++i;
  }
  return std::nullopt;
}

// Returns whether the pattern's element at `p` matches c, and sets `after` behind it.
bool element_fits(std::string_view pattern, std::size_t p, char c, std::size_t& after) {
  after = p + 1;
  if (pattern[p] == '?') return true;
  if (pattern[p] == '[') {
    if (const auto fits = set_contains(pattern, p + 1, c, after)) return *fits;
    after = p + 1;
  } else if (pattern[p] == '\\' && p + 1 < pattern.size()) {
    after = p + 2;
    return pattern[p + 1] == c;
  }
  return pattern[p] == c;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
  // Goes back to the last star only, so that the time is at most the product of the lengths.
  std::size_t p = 0, t = 0;
  std::optional<std::size_t> star;
  std::size_t taken = 0;  // where the star's text ends
  while (t < text.size()) {
    std::size_t after = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && element_fits(pattern, p, text[t], after)) {
      p = after;
      ++t;
    } else if (star) {
      p = *star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// --- resolving ---

namespace {

class Resolver {
 public:
  Resolver(const graph::Graph& graph, const device::Topology& topology)
      : graph_(graph), topology_(topology) {}

  // Returns the nodes whose names match. `kind` names the kind of constraint in errors.
  std::vector<NodeId> nodes(std::string_view kind, const std::string& pattern) const {
    std::vector<NodeId> found;
    for (std::size_t v = 0; v < graph_.node_count(); ++v) {
      if (glob_matches(pattern, graph_.node_name(NodeId::of(v)))) found.push_back(NodeId::of(v));
    }
    if (found.empty()) {
      throw ParameterError(fmt::format("{}: no node is called '{}'", kind, pattern),
                           Hint::kListNodes);
    }
    return found;
  }

  // Returns for each device whether its name matches.
  std::vector<bool> devices(std::string_view kind, const std::string& pattern) const {
    std::vector<bool> fits;
    std::string known;
    for (const device::Device& device : topology_.devices()) {
      fits.push_back(glob_matches(pattern, device.name));
      if (fits.size() <= kMostNamed) known += (known.empty() ? "" : ", ") + device.name;
    }
    if (std::find(fits.begin(), fits.end(), true) == fits.end()) {
      throw ParameterError(fmt::format("{}: {} has no device '{}' (it has {}{})", kind,
                                       topology_.name(), pattern, known,
                                       fits.size() > kMostNamed ? ", …" : ""));
    }
    return fits;
  }

  const std::string& name(std::size_t device) const { return topology_.devices()[device].name; }

 private:
  static constexpr std::size_t kMostNamed = 8;
  const graph::Graph& graph_;
  const device::Topology& topology_;
};

}  // namespace

graph::Constraints resolve(const ConstraintRules& rules, const graph::Graph& graph,
                           const device::Topology& topology) {
  const Resolver resolver(graph, topology);
  graph::Constraints constraints;
  for (const auto& rule : rules.pins) {
    const std::vector<bool> fits = resolver.devices("pin", rule.devices);
    const bool one = std::count(fits.begin(), fits.end(), true) == 1;
    for (const NodeId node : resolver.nodes("pin", rule.nodes)) {
      for (std::size_t d = 0; d < fits.size(); ++d) {
        if (one && fits[d]) constraints.pins.push_back({node, resolver.name(d)});
        if (!one && !fits[d]) constraints.forbids.push_back({node, resolver.name(d)});
      }
    }
  }
  for (const auto& rule : rules.forbids) {
    const std::vector<bool> fits = resolver.devices("forbid", rule.devices);
    for (const NodeId node : resolver.nodes("forbid", rule.nodes)) {
      for (std::size_t d = 0; d < fits.size(); ++d) {
        if (fits[d]) constraints.forbids.push_back({node, resolver.name(d)});
      }
    }
  }
  for (const auto& patterns : rules.colocate) {
    std::vector<NodeId>& group = constraints.colocated.emplace_back();
    for (const std::string& pattern : patterns) {
      const std::vector<NodeId> found = resolver.nodes("colocate", pattern);
      group.insert(group.end(), found.begin(), found.end());
    }
    std::sort(group.begin(), group.end());
    group.erase(std::unique(group.begin(), group.end()), group.end());
  }
  for (const auto& rule : rules.memory) {
    const std::vector<bool> fits = resolver.devices("memory", rule.devices);
    for (std::size_t d = 0; d < fits.size(); ++d) {
      if (fits[d]) constraints.memory.push_back({resolver.name(d), rule.bytes});
    }
  }
  return constraints;
}

// --- JSON ---

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

// Reads the value of a key of rules. Returns false, having read nothing, for any other key.
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
      // A JSON object may have each key once, and of one pattern's rules only the last counts.
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
