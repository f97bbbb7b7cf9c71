// Two forms for frameworks: a GraphDef for TensorFlow and a device map for PyTorch.
//
// The GraphDef is in the text form of protocol buffers, from which TensorFlow's parser takes the
// nodes' names, inputs and devices. Names are changed to what TensorFlow allows, and the attribute
// _doppler_name holds a node's original name.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "doppler/base/json_writer.h"
#include "doppler/export/export.h"

namespace doppler::exporting {

namespace {

// --- the GraphDef for TensorFlow ---

// A source of unique names of the form that TensorFlow allows, [A-Za-z0-9.][A-Za-z0-9_.\-/]*.
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
  std::unordered_map<std::string, std::size_t> uses_;  // the last number put behind a name
};

// Returns the text as a string of the text form, with bytes outside printable ASCII in octal.
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

// --- the device map for PyTorch ---
//
// The device map is as Hugging Face accelerate reads it: a JSON object from module paths to the
// number of an accelerator or "cpu". A module's entry holds for all modules in it. Nodes name their
// modules as PyTorch's exporter writes them, /model/layers.0/mlp/MatMul.

struct Module {
  std::map<std::string, std::unique_ptr<Module>> inner;  // by the next part of the path
  std::map<std::uint32_t, double> own;                   // work of its own nodes, by device
  std::map<std::uint32_t, double> total;                 // and with that of all modules inside
};

// Returns the parts of a node's module path: model, layers, 0 and mlp for
// "/model/layers.0/mlp/MatMul". The last part of the name is the operator, unless it is the only
// one.
std::vector<std::string> module_path(std::string_view name) {
  std::vector<std::string> parts;
  std::vector<std::string_view> folders;
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (end > begin) folders.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  if (folders.size() > 1) folders.pop_back();
  for (const std::string_view folder : folders) {
    std::size_t at = 0;
    while (at <= folder.size()) {
      const std::size_t dot = std::min(folder.find('.', at), folder.size());
      if (dot > at) parts.emplace_back(folder.substr(at, dot - at));
      at = dot + 1;
    }
  }
  return parts;
}

std::uint32_t most_work(const std::map<std::uint32_t, double>& work) {
  return std::max_element(work.begin(), work.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

class DeviceMap {
 public:
  explicit DeviceMap(const Source& source)
      : source_(source), indices_(class_indices(source.problem.topology())) {}

  Exported write() && {
    const graph::Graph& graph = source_.problem.graph();
    for (std::size_t v = 0; v < graph.node_count(); ++v) add(NodeId::of(v));
    json_.begin_object();
    // If all nodes are on one device, a single entry for the whole model suffices.
    if (root_.total.size() == 1) {
      entry("", root_.total.begin()->first);
    } else {
      if (!root_.own.empty()) entry("", most_work(root_.own));  // of nodes without a path
      for (const auto& [name, module] : root_.inner) emit(*module, name);
    }
    json_.end_object();
    std::vector<std::string> notes;
    std::size_t moved = 0;
    for (std::size_t v = 0; v < graph.node_count(); ++v)
      moved += mapped(NodeId::of(v)) != source_.placement.device[v].value();
    if (moved > 0) {
      notes.push_back(
          fmt::format("{} of {} nodes share a module with nodes on another device: the map gives "
                      "the module the device with most of its work",
                      moved, graph.node_count()));
    }
    notes.push_back("priorities are left out: a device map has none");
    return {json_.take(), std::move(notes)};
  }

 private:
  void add(NodeId node) {
    const graph::Graph& graph = source_.problem.graph();
    const std::uint32_t device = source_.placement.device[node.index()].value();
    const double work = source_.problem.compute_time(node, DeviceId(device)) +
                        1e-30;  // so that nodes without work count, too
    Module* module = &root_;
    module->total[device] += work;
    for (const std::string& part : module_path(graph.node_name(node))) {
      auto& inner = module->inner[part];
      if (!inner) inner = std::make_unique<Module>();
      module = inner.get();
      module->total[device] += work;
    }
    module->own[device] += work;
  }

  void entry(const std::string& path, std::uint32_t device) {
    map_[path] = device;
    json_.key(path);
    if (indices_[device].accelerator) {
      json_.value(indices_[device].number);
    } else {
      json_.value("cpu");
    }
  }

  // Writes one entry if the whole module is on one device, else one for each module in it. A module
  // with nodes of its own then has an entry, too. Readers prefer the longer paths of inner modules.
  void emit(const Module& module, const std::string& path) {
    if (module.total.size() == 1 || module.inner.empty()) {
      entry(path, most_work(module.total));
      return;
    }
    if (!module.own.empty()) entry(path, most_work(module.own));
    for (const auto& [name, inner] : module.inner) emit(*inner, path + "." + name);
  }

  // Returns what a reader of the map finds for a node: the entry of the longest path that leads to
  // it.
  std::uint32_t mapped(NodeId node) const {
    std::string path;
    auto found = map_.find("");
    for (const std::string& part : module_path(source_.problem.graph().node_name(node))) {
      path += (path.empty() ? "" : ".") + part;
      if (const auto longer = map_.find(path); longer != map_.end()) found = longer;
    }
    return found == map_.end() ? 0xffffffffu : found->second;
  }

  const Source& source_;
  std::vector<ClassIndex> indices_;
  Module root_;
  std::map<std::string, std::uint32_t> map_;
  JsonWriter json_;
};

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

Exported write_torch(const Source& source) {
  return DeviceMap(source).write();
}

}  // namespace doppler::exporting
