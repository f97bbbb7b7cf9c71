// A device map as Hugging Face accelerate reads it: a JSON object from module paths to the number
// of an accelerator or "cpu"; a module's entry holds for all modules in it. Nodes name their
// modules as PyTorch's exporter writes them, /model/layers.0/mlp/MatMul.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "doppler/base/json_writer.h"
#include "doppler/export/targets.h"

namespace doppler::exporting {
namespace {

struct Module {
  std::map<std::string, std::unique_ptr<Module>> inner;  // by the next part of the path
  std::map<std::uint32_t, double> own;                   // work of its own nodes, by device
  std::map<std::uint32_t, double> total;                 // with all inside
};

// "/model/layers.0/mlp/MatMul": model, layers, 0, mlp. The last part is the operator, unless there
// is nothing else.
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
    // Modules inside one module need not agree; the whole map may still be one entry.
    if (root_.total.size() == 1) {
      entry("", root_.total.begin()->first);
    } else {
      if (!root_.own.empty()) entry("", most_work(root_.own));  // names without any letter
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
                        1e-30;  // nodes without work count too
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

  // One entry where the module is of one device, else one for each module in it. Work of its own
  // gets an entry too, which the longer ones of inner modules come before.
  void emit(const Module& module, const std::string& path) {
    if (module.total.size() == 1 || module.inner.empty()) {
      entry(path, most_work(module.total));
      return;
    }
    if (!module.own.empty()) entry(path, most_work(module.own));
    for (const auto& [name, inner] : module.inner) emit(*inner, path + "." + name);
  }

  // What a reader of the map finds for a node: the entry of the longest path that leads to it.
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

Exported write_torch(const Source& source) {
  return DeviceMap(source).write();
}

}  // namespace doppler::exporting
