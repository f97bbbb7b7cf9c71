#include "doppler/formats/chakra/chakra.h"

#include <fmt/format.h>

#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "doppler/base/file.h"
#include "doppler/base/protobuf_reader.h"
#include "doppler/base/text_position.h"
#include "doppler/base/units.h"
#include "doppler/formats/foreign_json.h"

namespace doppler::formats {
namespace {

constexpr std::uint64_t kMetadata = 1;  // NodeType of et_def.proto

std::string_view type_name(std::uint64_t type) {
  constexpr std::string_view kNames[] = {"op",      "metadata", "load",      "store",
                                         "compute", "send",     "receive",   "collective",
                                         "storage", "batch",    "checkpoint"};
  return type < std::size(kNames) ? kNames[type] : "op";
}

}  // namespace

std::optional<double> tensor_bytes_in(std::string_view values) {
  std::optional<double> sum;
  std::vector<double> numbers;  // of the list that is being read
  for (std::size_t i = 0; i < values.size();) {
    const char c = values[i];
    if (c == '[' || c == '(' || c == ']' || c == ')') {
      numbers.clear();
      ++i;
    } else if (c == '\'' || c == '"') {
      const std::size_t end = values.find(c, i + 1);
      if (end == std::string_view::npos) break;
      if (numbers.size() == 5) sum = sum.value_or(0.0) + numbers[3] * numbers[4];
      numbers.clear();
      i = end + 1;
    } else if (c >= '0' && c <= '9') {
      double number = 0.0;
      const auto parsed = std::from_chars(values.data() + i, values.data() + values.size(), number);
      if (parsed.ec != std::errc{}) break;
      numbers.push_back(number);
      i = static_cast<std::size_t>(parsed.ptr - values.data());
    } else {
      ++i;
    }
  }
  return sum;
}

void ChakraTrace::add(ChakraNode node) {
  if (nodes_.size() == kMaxForeignNodes) tasks_.fail_at(node.at, "too many nodes");
  nodes_.push_back(std::move(node));
}

Imported ChakraTrace::build() && {
  std::unordered_map<std::uint64_t, NodeId> node_of;
  node_of.reserve(nodes_.size());
  std::size_t metadata = 0, untimed = 0, unsized = 0, dangling = 0, control = 0;
  for (const ChakraNode& node : nodes_) {
    if (node.type == kMetadata) {
      ++metadata;
      continue;
    }
    graph::NodeSpec spec{.name = node.name.empty() ? fmt::format("node{}", node.id) : node.name,
                         .op = std::string(type_name(node.type))};
    // What was measured counts; what is only planned is derived from its work.
    if (node.micros) {
      spec.time = *node.micros * kSecondsPerMicro;
    } else if (node.flops || node.moved_bytes) {
      spec.flops = node.flops;
      spec.bytes_read = node.moved_bytes;
    } else {
      spec.time = 0.0;
      ++untimed;
    }
    const auto bytes = node.result_bytes ? node.result_bytes : node.moved_bytes;
    unsized += !bytes;
    const NodeId id = tasks_.add(std::move(spec), node.at, {.bytes = bytes.value_or(0.0)});
    if (!node_of.emplace(node.id, id).second) {
      tasks_.fail_at(node.at, fmt::format("the id {} stands twice", node.id));
    }
  }
  std::size_t edges = 0;
  std::unordered_set<std::uint64_t> seen;  // what the node depends on already
  for (const ChakraNode& node : nodes_) {
    seen.clear();
    const auto self = node_of.find(node.id);
    if (node.type == kMetadata || self == node_of.end()) continue;
    const auto depend = [&](std::uint64_t id, std::optional<double> bytes) {
      if (!seen.insert(id).second) return false;
      const auto from = node_of.find(id);
      if (from == node_of.end()) {
        ++dangling;
        return false;
      }
      if (++edges > kMaxForeignEdges) tasks_.fail_at(node.at, "too many dependencies");
      tasks_.connect(from->second, self->second, bytes);
      return true;
    };
    for (const std::uint64_t id : node.data_deps) depend(id, std::nullopt);
    for (const std::uint64_t id : node.ctrl_deps) control += depend(id, 0.0);
  }
  Imported imported{.graph = std::move(tasks_).build(file_stem(file_))};
  const auto note = [&](std::size_t count, std::string_view text) {
    if (count > 0) imported.notes.push_back(fmt::format("{} {}", count, text));
  };
  note(metadata, "metadata nodes are left out");
  note(dangling, "dependencies name nodes that are not in the trace, and are left out");
  note(untimed, "nodes have neither a duration nor a size: 0 s");
  note(unsized, "results have no size and count as 0 bytes");
  note(control, "control dependencies count as results of 0 bytes");
  imported.notes.push_back(
      "durations are as traced, whatever the kind of device; CPU and GPU ops may go anywhere");
  return imported;
}

bool is_chakra(const Content& content) {
  if (!content.is_json) return is_chakra_protobuf(content.bytes);
  // One object with all nodes, or an object for each message.
  const JsonOutline& json = content.json;
  const auto has = [&](std::string_view a, std::string_view b) {
    return json.has(a) || json.has(b);
  };
  return json.has("workload_graph") ||
         (json.more_follow() && (json.has("version") || has("dataDeps", "data_deps") ||
                                 has("durationMicros", "duration_micros")));
}

Imported read_chakra(const std::string& file, std::string_view bytes, const ImportOptions&) {
  const std::size_t first = bytes.find_first_not_of("\xef\xbb\xbf \t\r\n");
  if (first != std::string_view::npos && (bytes[first] == '{' || bytes[first] == '[')) {
    ChakraTrace trace(file, [&file, bytes](std::size_t at, const std::string& message) {
      fail_at_offset(file, bytes, at, message);
    });
    read_chakra_json(file, bytes, trace);
    return std::move(trace).build();
  }
  ChakraTrace trace(file, [&file](std::size_t at, const std::string& message) {
    fail_at_byte(file, at, message);
  });
  read_chakra_protobuf(file, bytes, trace);
  return std::move(trace).build();
}

}  // namespace doppler::formats
