// A GraphDef in the text form of protocol buffers: TensorFlow's parser takes its nodes' names,
// inputs and devices. Names keep to what TensorFlow allows; a node's own name is the attribute
// _doppler_name.
#include <fmt/format.h>

#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "doppler/export/targets.h"

namespace doppler::exporting {
namespace {

// [A-Za-z0-9.][A-Za-z0-9_.\-/]*, each once.
class AllowedNames {
 public:
  std::string make(std::string_view name) {
    std::string allowed;
    for (const char c : name) {
      const bool plain =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
      const bool inner = plain || c == '_' || c == '-' || c == '/';
      allowed += (allowed.empty() ? plain : inner) ? c : (allowed.empty() ? '.' : '_');
    }
    if (allowed.empty()) allowed = "node";
    std::string unique = allowed;
    std::size_t& uses = uses_[allowed];
    while (!taken_.insert(unique).second) unique = fmt::format("{}_{}", allowed, ++uses);
    return unique;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::size_t> uses_;  // numbers given behind a name
};

// A string of the text form: bytes outside printable ASCII as octal numbers.
std::string proto_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      result += fmt::format("\\{:03o}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

Exported write_tensorflow(const Source& source) {
  const graph::Graph& graph = source.problem.graph();
  const std::vector<ClassIndex> indices = class_indices(source.problem.topology());
  AllowedNames allowed;
  std::vector<std::string> names;
  for (std::size_t v = 0; v < graph.node_count(); ++v)
    names.push_back(allowed.make(graph.node_name(NodeId::of(v))));
  std::vector<std::uint32_t> output_number(graph.tensor_count(), 0);
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    std::uint32_t number = 0;
    for (const TensorId tensor : graph.outputs(NodeId::of(v)))
      output_number[tensor.index()] = number++;
  }
  Exported exported;
  auto out = std::back_inserter(exported.bytes);
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const NodeId node = NodeId::of(v);
    const ClassIndex& device = indices[source.placement.device[v].index()];
    fmt::format_to(out, "node {{\n  name: {}\n  op: {}\n", proto_quoted(names[v]),
                   proto_quoted(graph.op_kind(node)));
    for (const TensorId tensor : graph.inputs(node)) {
      const NodeId producer = graph.producer(tensor);
      if (!producer.valid()) continue;
      const std::uint32_t number = output_number[tensor.index()];
      const std::string& name = names[producer.index()];
      fmt::format_to(out, "  input: {}\n",
                     proto_quoted(number == 0 ? name : fmt::format("{}:{}", name, number)));
    }
    fmt::format_to(out, "  device: \"/job:localhost/replica:0/task:0/device:{}:{}\"\n",
                   device.accelerator ? "GPU" : "CPU", device.number);
    fmt::format_to(out, "  attr {{ key: \"_doppler_name\" value {{ s: {} }} }}\n",
                   proto_quoted(graph.node_name(node)));
    fmt::format_to(out, "  attr {{ key: \"_doppler_priority\" value {{ s: \"{}\" }} }}\n}}\n",
                   source.placement.priority[v]);
  }
  exported.bytes += "versions { producer: 987 }\n";
  exported.notes.push_back(
      "inputs and weights are not nodes of the GraphDef; operators keep their own names");
  return exported;
}

}  // namespace doppler::exporting
