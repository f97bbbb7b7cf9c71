#include "doppler/formats/traces/traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/protobuf_reader.h"
#include "doppler/base/text.h"
#include "doppler/base/units.h"
#include "doppler/formats/task_graph.h"
#include "doppler/formats/traces/torch_ops.h"
#include "doppler/formats/traces/torch_works.h"

namespace doppler::formats {

namespace {

constexpr std::uint64_t kMetadata = 1;  // NodeType of et_def.proto

std::string_view type_name(std::uint64_t type) {
  constexpr std::string_view kNames[] = {"op",      "metadata", "load",      "store",
                                         "compute", "send",     "receive",   "collective",
                                         "storage", "batch",    "checkpoint"};
  return type < std::size(kNames) ? kNames[type] : "op";
}

// The tensors that a node reads or writes, which the trace prints as lists: IOInfo of et_def.proto.
struct ChakraTensors {
  std::optional<TensorTotals> totals;
  TensorShapes shapes;
  TensorTypes types;

  void set_values(std::string_view text) { totals = tensors_in(text); }
  void set_shapes(std::string_view text) { shapes = printed_shapes(text); }
  void set_types(std::string_view text) { types = printed_types(text); }
  double bytes() const { return totals ? totals->bytes : 0.0; }
};

// A node of the trace, as read from either form of the format.
struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  std::uint64_t type = 0;  // NodeType of et_def.proto
  std::vector<std::uint64_t> data_deps, ctrl_deps;
  std::optional<double> micros;        // measured duration
  std::optional<double> flops;         // "num_ops"
  std::optional<double> moved_bytes;   // "comm_size" or "tensor_size"
  std::optional<double> result_bytes;  // of all its results
  std::optional<ElementType> result_type;
  std::vector<kernel::Work> works;  // complete if it is an operator whose shapes are in the trace
  std::size_t at = 0;               // position in the file

  void set_tensors(const ChakraTensors& inputs, const ChakraTensors& outputs);
};

void ChakraNode::set_tensors(const ChakraTensors& inputs, const ChakraTensors& outputs) {
  if (outputs.totals) result_bytes = outputs.totals->bytes;
  const bool one_type =
      std::all_of(outputs.types.begin(), outputs.types.end(),
                  [&](const auto& other) { return other == outputs.types.front(); });
  if (!outputs.types.empty() && one_type) result_type = outputs.types.front();
  if (!torch_is_operator(name) || inputs.shapes.empty()) return;
  const double elements = outputs.totals ? outputs.totals->elements : 0.0;
  works = torch_works(name, inputs.shapes, inputs.types, elements);
  const double moved = torch_is_view(name) ? 0.0 : 1.0;
  share_traffic(works, moved * inputs.bytes(), moved * outputs.bytes());
}

// Collects the nodes of a trace in the order of the file, and makes the graph.
class ChakraTrace {
 public:
  ChakraTrace(const std::string& file, TaskGraph::Fail fail)
      : file_(file), tasks_(std::move(fail)) {}

  void add(ChakraNode node);
  Imported build() &&;

 private:
  const std::string& file_;
  TaskGraph tasks_;
  std::vector<ChakraNode> nodes_;
};

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
    // A node that was not measured, but only planned, has its work instead of a duration.
    spec.works = node.works;
    if (node.micros) {
      spec.time = *node.micros * kSecondsPerMicro;
    } else if (node.flops || node.moved_bytes) {
      spec.flops = node.flops;
      spec.bytes_read = node.moved_bytes;
      if (spec.works.empty() && spec.op == "compute") {
        spec.works = {{.work_class = kernel::classify_op(spec.name)}};
      }
      remove_what_is_known(spec.works, spec.op);
    } else {
      spec.time = 0.0;
      ++untimed;
    }
    const auto bytes = node.result_bytes ? node.result_bytes : node.moved_bytes;
    unsized += !bytes;
    const NodeId id = tasks_.add(std::move(spec), node.at,
                                 {.bytes = bytes.value_or(0.0), .type = node.result_type});
    if (!node_of.emplace(node.id, id).second) {
      tasks_.fail_at(node.at, fmt::format("the id {} stands twice", node.id));
    }
  }
  std::size_t edges = 0;
  std::unordered_set<std::uint64_t> seen;  // the ids that the node is known to depend on
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

// --- JSON ---

// Reads an enumerator of NodeType, given by its number or its name in et_def.proto.
std::uint64_t read_type(JsonReader& reader) {
  if (reader.peek() == JsonReader::Kind::kNumber) return reader.unsigned_integer(UINT32_MAX);
  const std::string_view name = reader.string_view();
  constexpr std::string_view kNames[] = {"INVALID_NODE",   "METADATA_NODE",  "MEM_LOAD_NODE",
                                         "MEM_STORE_NODE", "COMP_NODE",      "COMM_SEND_NODE",
                                         "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE",
                                         "BATCH_NODE",     "CHECKPOINT_NODE"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return i;
  }
  return 0;
}

// Reads an id, which may be in quotes: JSON forms of protocol buffers quote 64-bit integers.
std::uint64_t read_id(JsonReader& reader) {
  if (reader.peek() == JsonReader::Kind::kNumber) return reader.unsigned_integer(UINT64_MAX);
  const double value = read_quantity(reader, "an id");
  if (value >= 9e15) reader.fail("an id that large is not exact");
  return static_cast<std::uint64_t>(value);
}

// Returns whether the attribute is one that is read. The values of others may be anything, such as
// "NaN".
bool is_ours(std::string_view attribute) {
  return attribute == "num_ops" || attribute == "comm_size" || attribute == "tensor_size";
}

void read_attribute(JsonReader& reader, ChakraNode& node) {
  std::string name;
  std::optional<double> value;
  read_foreign_json_object(reader, [&](std::string_view key) {
    if (key == "name") {
      name = reader.string();
    } else if ((key.ends_with("Val") || key.ends_with("_val")) && !key.starts_with("bool") &&
               !key.starts_with("string") && !key.starts_with("bytes") &&
               (is_ours(name) || name.empty())) {
      value = read_number(reader);
    } else {
      return false;
    }
    return true;
  });
  if (!value || *value < 0.0) return;
  if (name == "num_ops") node.flops = *value;
  if (name == "comm_size" || name == "tensor_size") node.moved_bytes = *value;
}

void read_tensors(JsonReader& reader, ChakraTensors& tensors) {
  read_foreign_json_object(reader, [&](std::string_view key) {
    if (reader.peek() != JsonReader::Kind::kString) return false;
    if (key == "values") {
      tensors.set_values(reader.string());
    } else if (key == "shapes") {
      tensors.set_shapes(reader.string());
    } else if (key == "types") {
      tensors.set_types(reader.string());
    } else {
      return false;
    }
    return true;
  });
}

// Reads a node. Keys may be spelled as protocol buffers are printed, as in et_def.proto, or as the
// converters of simulators write them.
ChakraNode read_node(JsonReader& reader) {
  ChakraNode node;
  node.at = reader.value_position();
  ChakraTensors inputs, outputs;
  bool has_id = false;
  read_foreign_json_object(reader, [&](std::string_view key) {
    if (reader.peek() == JsonReader::Kind::kNull) return false;
    if (key == "id" || key == "Id") {
      node.id = read_id(reader);
      has_id = true;
    } else if (key == "name" || key == "Name") {
      node.name = reader.string();
    } else if (key == "type" || key == "NodeType") {
      node.type = read_type(reader);
    } else if (key == "runtime" || key == "durationMicros" || key == "duration_micros") {
      node.micros = read_quantity(reader, key);
    } else if (key == "dataDeps" || key == "data_deps") {
      read_json_array(reader, [&] { node.data_deps.push_back(read_id(reader)); });
    } else if (key == "ctrlDeps" || key == "ctrl_deps") {
      read_json_array(reader, [&] { node.ctrl_deps.push_back(read_id(reader)); });
    } else if (key == "num_ops") {
      node.flops = read_quantity(reader, key);
    } else if (key == "comm_size" || key == "tensor_size") {
      node.moved_bytes = read_quantity(reader, key);
    } else if (key == "attr" && reader.peek() == JsonReader::Kind::kArray) {
      read_json_array(reader, [&] { read_attribute(reader, node); });
    } else if ((key == "inputs" || key == "outputs") &&
               reader.peek() == JsonReader::Kind::kObject) {
      read_tensors(reader, key == "inputs" ? inputs : outputs);
    } else {
      return false;
    }
    return true;
  });
  if (!has_id && node.name.empty()) reader.fail_at(node.at, "a node without id and name");
  node.set_tensors(inputs, outputs);
  return node;
}

void read_chakra_json(const std::string& file, std::string_view text, ChakraTrace& trace) {
  JsonReader reader(file, text);
  bool whole = false, metadata = true;
  read_foreign_json_object(reader, [&](std::string_view key) {
    if (key == "id" || key == "name") metadata = false;
    if (key != "workload_graph" || reader.peek() != JsonReader::Kind::kArray) return false;
    whole = true;
    read_json_array(reader, [&] { trace.add(read_node(reader)); });
    return true;
  });
  if (whole) {
    reader.finish();
    return;
  }
  // There is an object for each message. The first is the metadata of the run unless it is a node.
  if (!metadata) reader = JsonReader(file, text);
  if (reader.done()) reader.fail_at(0, "a trace without nodes");
  while (!reader.done()) trace.add(read_node(reader));
}

// --- protocol buffers: field numbers are those of et_def.proto (github mlcommons/chakra) ---

using Wire = ProtobufReader::Wire;

// Reads an AttributeProto: a name and one value of many types, of which only numbers matter here.
void read_attribute(ProtobufReader in, ChakraNode& node) {
  std::string_view name;
  std::optional<double> value;
  while (in.next()) {
    const std::uint32_t field = in.field();
    const Wire wire = in.wire();
    if (field == 1 && wire == Wire::kBytes) {
      name = in.string();
      continue;
    }
    const std::uint64_t number = in.number();
    if (wire == Wire::kBytes) continue;
    switch (field) {
      case 3:  // double_val
        if (wire == Wire::kFixed64) value = std::bit_cast<double>(number);
        break;
      case 7:  // int32_val
      case 9:  // int64_val
        value = static_cast<double>(static_cast<std::int64_t>(number));
        break;
      case 11:  // uint32_val
      case 13:  // uint64_val
      case 19:  // fixed32_val
      case 21:  // fixed64_val
        value = static_cast<double>(number);
        break;
      case 15:    // sint32_val
      case 17: {  // sint64_val, zigzag
        const auto half = static_cast<std::int64_t>(number >> 1);
        value = static_cast<double>(number & 1 ? -half - 1 : half);
        break;
      }
      default:
        break;
    }
  }
  if (!value || !(*value >= 0.0 && *value < 1e30)) return;
  if (name == "num_ops") node.flops = *value;
  if (name == "comm_size" || name == "tensor_size") node.moved_bytes = *value;
}

// Reads an IOInfo.
ChakraTensors read_tensors(ProtobufReader in) {
  ChakraTensors tensors;
  while (in.next()) {
    const std::uint32_t field = in.field();
    if (in.wire() != Wire::kBytes || field > 3) {
      in.skip();
    } else if (field == 1) {
      tensors.set_values(in.string());
    } else if (field == 2) {
      tensors.set_shapes(in.string());
    } else {
      tensors.set_types(in.string());
    }
  }
  return tensors;
}

ChakraNode read_node(const std::string& file, ProtobufReader in) {
  ChakraNode node;
  ChakraTensors inputs, outputs;
  node.at = in.offset();
  std::vector<std::int64_t> ids;
  while (in.next()) {
    const bool bytes = in.wire() == Wire::kBytes;
    switch (in.field()) {
      case 1:
        node.id = in.number();
        break;
      case 2:
        node.name = in.string();
        require_utf8(file, node.name);
        break;
      case 3:
        node.type = in.number();
        break;
      case 4:
      case 5: {
        auto& deps = in.field() == 4 ? node.ctrl_deps : node.data_deps;
        ids.clear();
        in.append_integers(ids, kMaxForeignEdges);
        for (const std::int64_t id : ids) deps.push_back(static_cast<std::uint64_t>(id));
        break;
      }
      case 7:
        if (bytes) {
          in.skip();
        } else {
          node.micros = static_cast<double>(in.number());
        }
        break;
      case 8:
      case 9:
        (in.field() == 8 ? inputs : outputs) = read_tensors(in.message());
        break;
      case 10:
        read_attribute(in.message(), node);
        break;
      default:
        in.skip();
    }
  }
  node.set_tensors(inputs, outputs);
  return node;
}

// Returns whether a message has only fields up to `most_fields` whose encoding `fits`.
bool looks_like(ProtobufReader message, std::uint32_t most_fields,
                bool (*fits)(std::uint32_t field, Wire wire)) {
  while (message.next()) {
    if (message.field() > most_fields || !fits(message.field(), message.wire())) return false;
    message.skip();
  }
  return true;
}

bool is_chakra_protobuf(std::string_view bytes) {
  const std::string nowhere;
  try {
    ProtobufReader stream(nowhere, bytes);
    if (!looks_like(stream.delimited(), 2,
                    [](std::uint32_t, Wire wire) { return wire == Wire::kBytes; })) {
      return false;
    }
    const ProtobufReader node = stream.delimited();
    return !node.at_end() && looks_like(node, 11, [](std::uint32_t field, Wire wire) {
      const bool text = field == 2 || field >= 8;
      const bool list = field == 4 || field == 5;
      return list || (wire == Wire::kBytes) == text;
    });
  } catch (const InputError&) {
    return false;
  }
}

void read_chakra_protobuf(const std::string& file, std::string_view bytes, ChakraTrace& trace) {
  ProtobufReader stream(file, bytes);
  stream.delimited();  // GlobalMetadata: a version and attributes of the run
  while (!stream.at_end()) trace.add(read_node(file, stream.delimited()));
}

}  // namespace

std::optional<TensorTotals> tensors_in(std::string_view values) {
  std::optional<TensorTotals> sum;
  std::vector<double> numbers;  // the numbers read so far of the current list
  for (std::size_t i = 0; i < values.size();) {
    const char c = values[i];
    if (c == '[' || c == '(' || c == ']' || c == ')') {
      numbers.clear();
      ++i;
    } else if (c == '\'' || c == '"') {
      const std::size_t end = values.find(c, i + 1);
      if (end == std::string_view::npos) break;
      if (numbers.size() == 5) {
        if (!sum) sum.emplace();
        sum->elements += numbers[3];
        sum->bytes += numbers[3] * numbers[4];
      }
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

bool is_chakra(const Content& content) {
  if (!content.is_json) return is_chakra_protobuf(content.bytes);
  // A trace is one object with all nodes, or an object for each message.
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
