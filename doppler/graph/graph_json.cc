#include "doppler/graph/graph_json.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/names.h"
#include "doppler/graph/builder.h"
#include "doppler/kernel/registry.h"

namespace doppler::graph {
namespace {

double non_negative(JsonReader& reader) {
  const double value = reader.number();
  if (value < 0.0) reader.fail("must not be negative");
  return value;
}

std::string non_empty(JsonReader& reader) {
  std::string text = reader.string();
  if (text.empty()) reader.fail("must not be empty");
  return text;
}

// Reads one graph file. Its sections refer to each other by name and may be in any order. So the
// file is first skimmed for the positions of its sections, and then they are read in the order in
// which they depend on each other: tensors, nodes, constraints.
class GraphReader {
 public:
  GraphReader(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  Graph read() {
    find_sections();
    if (tensors_at_) read_tensors();
    read_nodes();
    if (constraints_at_) read_constraints();
    try {
      Graph graph = std::move(builder_).build();
      check_calls(graph, kernel::default_kernels());
      return graph;
    } catch (const GraphError& error) {
      fail_at(error.node.valid() ? node_at_[error.node.index()] : tensor_at_[error.tensor.index()],
              error.what());
    }
  }

 private:
  // An operand as the file gives it.
  struct Input {
    TensorId tensor;
    std::optional<double> transfer_time;
  };

  [[noreturn]] void fail_at(std::size_t offset, const std::string& message) const {
    JsonReader(file_, text_).fail_at(offset, message);
  }

  // Runs what may throw an error without a place, and gives it one.
  template <class Action>
  auto at(std::size_t offset, const Action& action) {
    try {
      return action();
    } catch (const InputError& error) {
      fail_at(offset, error.what());
    }
  }

  void find_sections();
  void read_tensors();
  void read_tensor(JsonReader& reader);
  void read_nodes();
  void read_node(JsonReader& reader);
  Input read_input(JsonReader& reader);
  TensorId read_tensor_name(JsonReader& reader) const;
  void read_constraints();
  NodeId read_node_name(JsonReader& reader) const;
  std::vector<Constraints::NodeDevice> read_node_devices(JsonReader& reader) const;

  const std::string& file_;
  std::string_view text_;
  GraphBuilder builder_;
  std::optional<std::size_t> tensors_at_, nodes_at_, constraints_at_;
  NameIndex node_names_, tensor_names_;           // numbers are ids
  std::vector<std::size_t> node_at_, tensor_at_;  // where each is defined
  struct Update {
    TensorId value;
    std::string parameter;
    std::size_t at;
  };
  std::vector<Update> updates_;
  std::vector<Input> inputs_;      // of the node being read
  std::vector<TensorId> outputs_;  // of the node being read
};

void GraphReader::find_sections() {
  JsonReader reader(file_, text_);
  if (reader.peek() != JsonReader::Kind::kObject) {
    fail_at(reader.value_position(), "not a doppler.graph file: it is not a JSON object");
  }
  reader.begin_object();
  const std::size_t start = reader.position();
  bool format = false;
  std::optional<std::uint64_t> version;
  std::optional<std::string> name, unit;
  std::optional<std::pair<std::size_t, std::string>> bad_key;
  std::size_t unit_at = 0;
  const auto section = [&](std::optional<std::size_t>& at) {
    at = reader.value_position();
    reader.skip_value();
  };
  while (const auto view = reader.next_key()) {
    const std::string key(*view);
    const std::size_t key_at = reader.position();
    bool repeated = false;
    if (key == "format") {
      repeated = format;
      if (reader.peek() != JsonReader::Kind::kString || reader.string_view() != "doppler.graph") {
        fail_at(key_at, "not a doppler.graph file: \"format\" is not \"doppler.graph\"");
      }
      format = true;
    } else if (key == "version") {
      repeated = version.has_value();
      version = reader.unsigned_integer(std::numeric_limits<std::uint32_t>::max());
      if (*version > kGraphJsonVersion) {
        reader.fail(fmt::format("version {} is newer than this program reads ({})", *version,
                                kGraphJsonVersion));
      }
      if (*version == 0) reader.fail("there is no version 0");
    } else if (key == "name") {
      repeated = name.has_value();
      name = reader.string();
    } else if (key == "time_unit") {
      repeated = unit.has_value();
      unit = reader.string();
      unit_at = reader.position();
    } else if (key == "tensors") {
      repeated = tensors_at_.has_value();
      section(tensors_at_);
    } else if (key == "nodes") {
      repeated = nodes_at_.has_value();
      section(nodes_at_);
    } else if (key == "constraints") {
      repeated = constraints_at_.has_value();
      section(constraints_at_);
    } else {
      if (!bad_key) bad_key = {key_at, fmt::format("unknown key '{}'", key)};
      reader.skip_value();
    }
    if (repeated && !bad_key) bad_key = {key_at, fmt::format("the key '{}' stands twice", key)};
  }
  reader.finish();
  // Checks format and version before any other error in the file is reported.
  if (!format) fail_at(start, "not a doppler.graph file: the key 'format' is missing");
  if (!version) fail_at(start, "not a doppler.graph file: the key 'version' is missing");
  if (bad_key) fail_at(bad_key->first, bad_key->second);
  if (!nodes_at_) fail_at(start, "the key 'nodes' is missing");
  builder_.set_name(name && !name->empty() ? *name : file_stem(file_));
  if (unit) at(unit_at, [&] { builder_.set_time_unit(*unit); });
}

void GraphReader::read_tensors() {
  JsonReader reader(file_, text_, *tensors_at_);
  reader.begin_array();
  while (reader.next_element()) read_tensor(reader);
  for (const Update& update : updates_) {
    const auto parameter = tensor_names_.find(update.parameter);
    if (!parameter) fail_at(update.at, fmt::format("unknown tensor '{}'", update.parameter));
    at(update.at, [&] { builder_.set_updates(update.value, TensorId(*parameter)); });
  }
}

ElementType read_type(JsonReader& reader) {
  const std::string_view name = reader.string_view();
  const auto type = find_element_type(name);
  if (!type) {
    reader.fail(fmt::format("no element type '{}'; there are {}", name, element_type_names()));
  }
  return *type;
}

void GraphReader::read_tensor(JsonReader& reader) {
  enum Key { kName, kBytes, kType, kTransferTime, kRole, kOutput, kHome, kUpdates };
  static constexpr std::string_view kKeys[] = {"name", "bytes",  "type", "transfer_time",
                                               "role", "output", "home", "updates"};
  TensorSpec spec;
  std::optional<Update> update;
  JsonFields fields(reader, kKeys);
  while (const auto key = fields.next()) {
    switch (*key) {
      case kName:
        spec.name = non_empty(reader);
        if (!tensor_names_.add(spec.name).is_new) {
          reader.fail(fmt::format("two tensors are named '{}'", spec.name));
        }
        break;
      case kBytes:
        spec.bytes = non_negative(reader);
        break;
      case kType:
        spec.type = read_type(reader);
        break;
      case kTransferTime:
        spec.transfer_time = non_negative(reader);
        break;
      case kRole: {
        const std::string_view role = reader.string_view();
        if (role == "input") {
          spec.role = TensorRole::kInput;
        } else if (role == "parameter") {
          spec.role = TensorRole::kParameter;
        } else {
          reader.fail("a tensor's role is \"input\" or \"parameter\"; a produced value has none");
        }
        break;
      }
      case kOutput:
        spec.output = reader.boolean();
        break;
      case kHome:
        spec.home = non_empty(reader);
        break;
      case kUpdates:
        update.emplace();
        update->parameter = reader.string();
        update->at = reader.position();
        break;
    }
  }
  fields.require(kName);
  tensor_at_.push_back(fields.position());
  const TensorId tensor =
      at(fields.position(), [&] { return builder_.add_tensor(std::move(spec)); });
  if (update) {
    update->value = tensor;
    updates_.push_back(std::move(*update));
  }
}

TensorId GraphReader::read_tensor_name(JsonReader& reader) const {
  const std::string_view name = reader.string_view();
  const auto tensor = tensor_names_.find(name);
  if (!tensor) reader.fail(fmt::format("unknown tensor '{}'", name));
  return TensorId(*tensor);
}

GraphReader::Input GraphReader::read_input(JsonReader& reader) {
  if (reader.peek() == JsonReader::Kind::kString) return {read_tensor_name(reader), std::nullopt};
  enum Key { kTensor, kTransferTime };
  static constexpr std::string_view kKeys[] = {"tensor", "transfer_time"};
  Input input;
  JsonFields fields(reader, kKeys);
  while (const auto key = fields.next()) {
    switch (*key) {
      case kTensor:
        input.tensor = read_tensor_name(reader);
        break;
      case kTransferTime:
        input.transfer_time = non_negative(reader);
        break;
    }
  }
  fields.require(kTensor);
  return input;
}

std::vector<kernel::Shape> read_shapes(JsonReader& reader) {
  std::vector<kernel::Shape> shapes;
  reader.begin_array();
  while (reader.next_element()) {
    kernel::Shape& shape = shapes.emplace_back();
    reader.begin_array();
    while (reader.next_element()) {
      constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
      shape.push_back(static_cast<std::int64_t>(reader.unsigned_integer(kMax)));
    }
  }
  return shapes;
}

kernel::KernelCall read_kernel(JsonReader& reader) {
  enum Key { kName, kAttributes, kInputs, kOutputs };
  static constexpr std::string_view kKeys[] = {"name", "attributes", "inputs", "outputs"};
  kernel::KernelCall call;
  JsonFields fields(reader, kKeys);
  while (const auto key = fields.next()) {
    switch (*key) {
      case kName:
        call.name = non_empty(reader);
        break;
      case kAttributes:
        reader.begin_object();
        while (const auto attribute = reader.next_key()) {
          call.attributes.emplace_back(std::string(*attribute), std::string());
          call.attributes.back().second = reader.string();
        }
        break;
      case kInputs:
        call.inputs = read_shapes(reader);
        break;
      case kOutputs:
        call.outputs = read_shapes(reader);
        break;
    }
  }
  fields.require(kName);
  return call;
}

kernel::Work read_work(JsonReader& reader) {
  enum Key {
    kClass,
    kType,
    kCount,
    kFlops,
    kBytesRead,
    kBytesWritten,
    kBatch,
    kRows,
    kColumns,
    kDepth
  };
  static constexpr std::string_view kKeys[] = {"class",      "type",          "count", "flops",
                                               "bytes_read", "bytes_written", "batch", "rows",
                                               "columns",    "depth"};
  kernel::Work work;
  JsonFields fields(reader, kKeys);
  while (const auto key = fields.next()) {
    switch (*key) {
      case kClass: {
        const std::string_view name = reader.string_view();
        work.work_class = kernel::find_work_class(name);
        if (!work.work_class) reader.fail(fmt::format("no class of work is called '{}'", name));
        break;
      }
      case kType:
        work.type = read_type(reader);
        break;
      case kCount:
        work.count = non_negative(reader);
        break;
      case kFlops:
        work.flops = non_negative(reader);
        break;
      case kBytesRead:
        work.bytes_read = non_negative(reader);
        break;
      case kBytesWritten:
        work.bytes_written = non_negative(reader);
        break;
      case kBatch:
        work.batch = non_negative(reader);
        break;
      case kRows:
        work.rows = non_negative(reader);
        break;
      case kColumns:
        work.columns = non_negative(reader);
        break;
      case kDepth:
        work.depth = non_negative(reader);
        break;
    }
  }
  return work;
}

void GraphReader::read_nodes() {
  JsonReader reader(file_, text_, *nodes_at_);
  reader.begin_array();
  while (reader.next_element()) read_node(reader);
}

void GraphReader::read_node(JsonReader& reader) {
  enum Key {
    kName,
    kOp,
    kTime,
    kTimes,
    kFlops,
    kBytesRead,
    kBytesWritten,
    kMetaOp,
    kMetaRole,
    kScope,
    kWork,
    kKernel,
    kInputs,
    kOutputs
  };
  static constexpr std::string_view kKeys[] = {
      "name",    "op",        "time",  "times", "flops",  "bytes_read", "bytes_written",
      "meta_op", "meta_role", "scope", "work",  "kernel", "inputs",     "outputs"};
  NodeSpec spec;
  inputs_.clear();
  outputs_.clear();
  std::size_t outputs_at = 0;
  JsonFields fields(reader, kKeys);
  while (const auto key = fields.next()) {
    switch (*key) {
      case kName:
        spec.name = non_empty(reader);
        if (!node_names_.add(spec.name).is_new) {
          reader.fail(fmt::format("two nodes are named '{}'", spec.name));
        }
        break;
      case kOp:
        spec.op = non_empty(reader);
        break;
      case kTime:
        spec.time = non_negative(reader);
        break;
      case kTimes:
        reader.begin_object();
        while (const auto kind = reader.next_key()) {
          spec.times_by_kind.emplace_back(std::string(*kind), 0.0);
          spec.times_by_kind.back().second = non_negative(reader);
        }
        break;
      case kFlops:
        spec.flops = non_negative(reader);
        break;
      case kBytesRead:
        spec.bytes_read = non_negative(reader);
        break;
      case kBytesWritten:
        spec.bytes_written = non_negative(reader);
        break;
      case kMetaOp:
        spec.meta_op = non_empty(reader);
        break;
      case kMetaRole: {
        const std::string_view role = reader.string_view();
        if (role != "shard" && role != "reduction") {
          reader.fail("a node's meta_role is \"shard\" or \"reduction\"");
        }
        spec.meta_role = role == "shard" ? MetaRole::kShard : MetaRole::kReduction;
        break;
      }
      case kScope:
        spec.scope = non_empty(reader);
        break;
      case kWork:
        reader.begin_array();
        while (reader.next_element()) spec.works.push_back(read_work(reader));
        break;
      case kKernel:
        spec.kernel = read_kernel(reader);
        break;
      case kInputs:
        reader.begin_array();
        while (reader.next_element()) inputs_.push_back(read_input(reader));
        break;
      case kOutputs:
        reader.begin_array();
        outputs_at = reader.position();
        while (reader.next_element()) outputs_.push_back(read_tensor_name(reader));
        break;
    }
  }
  fields.require(kName);
  if (fields.has(kMetaRole)) fields.require(kMetaOp);
  node_at_.push_back(fields.position());
  const NodeId node = at(fields.position(), [&] { return builder_.add_node(std::move(spec)); });
  at(outputs_at, [&] {
    for (const TensorId tensor : outputs_) builder_.set_producer(tensor, node);
  });
  at(fields.position(), [&] {
    for (const Input& input : inputs_) builder_.connect(input.tensor, node, input.transfer_time);
  });
}

NodeId GraphReader::read_node_name(JsonReader& reader) const {
  const std::string_view name = reader.string_view();
  const auto node = node_names_.find(name);
  if (!node) reader.fail(fmt::format("unknown node '{}'", name));
  return NodeId(*node);
}

std::vector<Constraints::NodeDevice> GraphReader::read_node_devices(JsonReader& reader) const {
  enum Key { kNode, kDevice };
  static constexpr std::string_view kKeys[] = {"node", "device"};
  std::vector<Constraints::NodeDevice> entries;
  reader.begin_array();
  while (reader.next_element()) {
    Constraints::NodeDevice& entry = entries.emplace_back();
    JsonFields fields(reader, kKeys);
    while (const auto key = fields.next()) {
      switch (*key) {
        case kNode:
          entry.node = read_node_name(reader);
          break;
        case kDevice:
          entry.device = non_empty(reader);
          break;
      }
    }
    fields.require(kNode);
    fields.require(kDevice);
  }
  return entries;
}

void GraphReader::read_constraints() {
  enum Key { kPin, kForbid, kColocate, kMemory };
  static constexpr std::string_view kKeys[] = {"pin", "forbid", "colocate", "memory"};
  JsonReader reader(file_, text_, *constraints_at_);
  Constraints& constraints = builder_.constraints();
  JsonFields fields(reader, kKeys);
  while (const auto key = fields.next()) {
    switch (*key) {
      case kPin:
        constraints.pins = read_node_devices(reader);
        break;
      case kForbid:
        constraints.forbids = read_node_devices(reader);
        break;
      case kColocate:
        reader.begin_array();
        while (reader.next_element()) {
          std::vector<NodeId>& group = constraints.colocated.emplace_back();
          reader.begin_array();
          while (reader.next_element()) group.push_back(read_node_name(reader));
        }
        break;
      case kMemory:
        reader.begin_object();
        while (const auto device = reader.next_key()) {
          for (const auto& entry : constraints.memory) {
            if (entry.device == *device) {
              reader.fail(fmt::format("the device '{}' stands twice", *device));
            }
          }
          constraints.memory.push_back({std::string(*device), 0});
          constraints.memory.back().bytes =
              reader.unsigned_integer(std::numeric_limits<std::uint64_t>::max());
        }
        break;
    }
  }
}

}  // namespace

Graph read_graph_json(const std::string& file, std::string_view text) {
  return GraphReader(file, text).read();
}

}  // namespace doppler::graph
