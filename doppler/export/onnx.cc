// The ONNX form: the model itself with the placement in its metadata. The placement is written
// twice: as the multi-device annotations of the ONNX standard (IR version 11:
// ModelProto.configuration, NodeProto.device_configurations), and as the annotations that ONNX
// Runtime's session.layer_assignment_settings refers to (the node's metadata "layer_ann").
// Everything else stays byte for byte as it was.
#include <fmt/format.h>

#include <set>
#include <string_view>

#include "doppler/base/error.h"
#include "doppler/base/protobuf_reader.h"
#include "doppler/export/export.h"
#include "doppler/formats/onnx/onnx.h"
#include "doppler/formats/onnx/onnx_model.h"

namespace doppler::exporting {
namespace {

constexpr std::string_view kConfiguration = "doppler";
constexpr std::string_view kLayerKey = "layer_ann";
constexpr std::string_view kPriorityKey = "doppler.priority";

void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}
void put_integer(std::string& out, std::uint32_t field, std::uint64_t value) {
  put_varint(out, std::uint64_t{field} << 3);
  put_varint(out, value);
}
void put_bytes(std::string& out, std::uint32_t field, std::string_view content) {
  put_varint(out, std::uint64_t{field} << 3 | 2);
  put_varint(out, content.size());
  out.append(content);
}

// Returns the bytes of a StringStringEntryProto.
std::string entry(std::string_view key, std::string_view value) {
  std::string out;
  put_bytes(out, 1, key);
  put_bytes(out, 2, value);
  return out;
}

class ModelWriter {
 public:
  explicit ModelWriter(const Source& source)
      : source_(source),
        read_(formats::read_onnx_nodes(source.model_file, source.model, source.options)) {
    const graph::Graph& graph = source.problem.graph();
    if (read_.imported.graph.hash() != graph.hash()) {
      throw ParameterError(
          fmt::format("{}: the model is not the graph of this placement", source.model_file));
    }
  }

  Exported write() && {
    Exported exported;
    find_functions();
    ProtobufReader reader(source_.model_file, source_.model);
    while (reader.next()) {
      const std::size_t begin = reader.field_offset();
      if (reader.field() == 7) {
        put_bytes(exported.bytes, 7, write_graph(reader.message()));
      } else if (reader.field() == 26 && name_of(reader.message()) == kConfiguration) {
        continue;  // an earlier export wrote it
      } else {
        if (reader.field() != 26) reader.skip();
        exported.bytes += source_.model.substr(begin, reader.offset() - begin);
      }
    }
    const device::Topology& topology = source_.problem.topology();
    std::string configuration;
    put_bytes(configuration, 1, kConfiguration);
    put_integer(configuration, 2, topology.device_count());
    for (const device::Device& device : topology.devices())
      put_bytes(configuration, 3, device.name);
    put_bytes(exported.bytes, 26, configuration);
    if (unplaced_ > 0) {
      exported.notes.push_back(
          fmt::format("{} nodes on constants and shapes alone carry no device", unplaced_));
    }
    if (replaced_ > 0) {
      exported.notes.push_back(fmt::format(
          "{} calls of functions and Ifs carry no device: the nodes of their bodies were "
          "placed, which the annotations of a model cannot say",
          replaced_));
    }
    if (!weight_files_.empty()) {
      exported.notes.push_back(fmt::format(
          "weights are in {}{}, which must stay beside the model", *weight_files_.begin(),
          weight_files_.size() > 1 ? fmt::format(" and {} more files", weight_files_.size() - 1)
                                   : ""));
    }
    return exported;
  }

 private:
  // Returns the text of a message's field 1, which is the name of a configuration or function, or
  // the key of an entry.
  static std::string_view name_of(ProtobufReader message) {
    while (message.next()) {
      if (message.field() == 1 && message.wire() == ProtobufReader::Wire::kBytes)
        return message.string();
      message.skip();
    }
    return {};
  }

  // Collects the names of the model's functions. This takes a pass of its own, because functions
  // come after the graph that calls them.
  void find_functions() {
    ProtobufReader reader(source_.model_file, source_.model);
    while (reader.next()) {
      if (reader.field() == 25) {
        functions_.emplace(name_of(reader.message()));
      } else {
        reader.skip();
      }
    }
  }

  // Records the file that holds a weight's bytes (TensorProto.external_data), if they are not in
  // the model.
  void find_weight_file(ProtobufReader tensor) {
    while (tensor.next()) {
      if (tensor.field() != 13) {
        tensor.skip();
        continue;
      }
      ProtobufReader entry = tensor.message();
      std::string_view key, value;
      while (entry.next()) {
        if (entry.field() == 1) {
          key = entry.string();
        } else if (entry.field() == 2) {
          value = entry.string();
        } else {
          entry.skip();
        }
      }
      if (key == "location") weight_files_.emplace(value);
    }
  }

  std::string write_graph(ProtobufReader reader) {
    std::string graph;
    std::size_t node = 0;
    while (reader.next()) {
      const std::size_t begin = reader.field_offset();
      if (reader.field() == 1) {
        put_bytes(graph, 1, write_node(reader.message(), node++));
      } else {
        if (reader.field() == 5) {
          find_weight_file(reader.message());
        } else {
          reader.skip();
        }
        graph += source_.model.substr(begin, reader.offset() - begin);
      }
    }
    return graph;
  }

  std::string write_node(ProtobufReader reader, std::size_t index) {
    std::string node;
    std::vector<std::string_view> outputs;
    std::string_view op;
    while (reader.next()) {
      const std::size_t begin = reader.field_offset();
      bool ours = false;  // whether an earlier export wrote the field
      if (reader.field() == 2) {
        outputs.push_back(reader.string());
      } else if (reader.field() == 4) {
        op = reader.string();
      } else if (reader.field() == 9 || reader.field() == 10) {
        const std::string_view name = name_of(reader.message());
        ours = name == kLayerKey || name == kPriorityKey || name == kConfiguration;
      } else {
        reader.skip();
      }
      if (!ours) node += source_.model.substr(begin, reader.offset() - begin);
    }
    const NodeId placed = read_.node_of.at(index);
    if (!placed.valid()) {
      ++(op == "If" || functions_.contains(op) ? replaced_ : unplaced_);
      return node;
    }
    const DeviceId device = source_.placement.device[placed.index()];
    put_bytes(node, 9, entry(kLayerKey, source_.problem.topology().device(device).name));
    put_bytes(node, 9,
              entry(kPriorityKey, fmt::format("{}", source_.placement.priority[placed.index()])));
    // The NodeDeviceConfigurationProto says that every result is whole on one device.
    std::string configuration;
    put_bytes(configuration, 1, kConfiguration);
    for (const std::string_view output : outputs) {
      if (output.empty()) continue;
      std::string sharding;
      put_bytes(sharding, 1, output);
      put_integer(sharding, 2, device.value());
      put_bytes(configuration, 2, sharding);
    }
    put_bytes(node, 10, configuration);
    return node;
  }

  const Source& source_;
  formats::OnnxImported read_;
  std::size_t unplaced_ = 0;  // number of nodes that work on constants and shapes alone
  std::size_t replaced_ = 0;  // number of nodes that the nodes of a body stand for
  std::set<std::string_view> functions_;
  std::set<std::string_view> weight_files_;
};

}  // namespace

Exported write_onnx(const Source& source) {
  if (!formats::is_onnx_model(source.model)) {
    throw ParameterError(
        fmt::format("{}: only a graph that was read from an ONNX model can be written as one",
                    source.model_file.empty() ? "the graph" : source.model_file));
  }
  return ModelWriter(source).write();
}

}  // namespace doppler::exporting
