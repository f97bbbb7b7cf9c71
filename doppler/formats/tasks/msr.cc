#include "doppler/formats/tasks/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "doppler/base/file.h"
#include "doppler/formats/task_graph.h"

namespace doppler::formats {
namespace {

// The files do not name the unit of times. It is taken to be milliseconds, as in the paper.
constexpr double kSecondsPerUnit = 1e-3;
constexpr std::size_t kMostOfAClass = device::Topology::kMaxDevices / 2;

struct MsrLayer {
  std::string name, id;
  double cpu = 0.0, accelerator = 0.0, bytes = 0.0;
  bool on_accelerator = true, backward = false;
  std::optional<double> color;
  std::size_t at = 0;
};
struct MsrLink {
  std::string from, to;
  double cost = 0.0;
  std::optional<double> bytes;
  std::size_t at = 0;
};

class MsrReader {
 public:
  MsrReader(const std::string& file, std::string_view text, bool own_devices)
      : file_(file), reader_(file, text), tasks_(file, text), own_devices_(own_devices) {}

  Imported read() {
    read_foreign_json_object(reader_, [&](std::string_view key) {
      if (key == "maxSizePerFPGA") {
        memory_ = read_quantity(reader_, key);
      } else if (key == "maxFPGAs") {
        accelerators_ = count(key);
      } else if (key == "maxCPUs") {
        cpus_ = count(key);
      } else if (key == "nodes") {
        read_json_array(reader_, [&] { read_node(); });
      } else if (key == "edges") {
        read_json_array(reader_, [&] { read_edge(); });
      } else {
        return false;
      }
      return true;
    });
    reader_.finish();
    add_nodes();
    add_edges();
    Imported imported{.graph = std::move(tasks_).build(file_stem(file_))};
    imported.notes.push_back("latencies and costs are taken for milliseconds");
    if (unsupported_ > 0) {
      imported.notes.push_back(fmt::format("{} nodes run on CPUs only", unsupported_));
    }
    if (accelerators_ + cpus_ > 0) imported.machine = machine();
    return imported;
  }

 private:
  std::size_t count(std::string_view key) {
    const double value = read_quantity(reader_, key);
    if (value != std::floor(value) || value > static_cast<double>(kMostOfAClass)) {
      reader_.fail(fmt::format("{} must be an integer up to {}", key, kMostOfAClass));
    }
    return static_cast<std::size_t>(value);
  }

  void read_node() {
    if (layers_.size() == kMaxForeignNodes) reader_.fail("too many nodes");
    MsrLayer layer;
    bool has_accelerator = false, has_cpu = false;
    layer.at = reader_.value_position();
    read_foreign_json_object(reader_, [&](std::string_view key) {
      if (key == "id") {
        layer.id = read_identifier(reader_);
      } else if (key == "name") {
        layer.name = read_identifier(reader_);
      } else if (key == "cpuLatency") {
        layer.cpu = read_quantity(reader_, key) * kSecondsPerUnit;
        has_cpu = true;
      } else if (key == "fpgaLatency") {
        layer.accelerator = read_quantity(reader_, key) * kSecondsPerUnit;
        has_accelerator = true;
      } else if (key == "supportedOnFpga") {
        layer.on_accelerator = read_flag(reader_);
      } else if (key == "isBackwardNode") {
        layer.backward = read_flag(reader_);
      } else if (key == "size") {
        layer.bytes = read_quantity(reader_, key);
      } else if (key == "colorClass" && reader_.peek() == JsonReader::Kind::kNumber) {
        layer.color = reader_.number();
      } else {
        return false;
      }
      return true;
    });
    if (layer.id.empty()) reader_.fail_at(layer.at, "a node without 'id'");
    if (!has_cpu) reader_.fail_at(layer.at, "a node without 'cpuLatency'");
    layer.on_accelerator = layer.on_accelerator && has_accelerator;
    layers_.push_back(std::move(layer));
  }

  void read_edge() {
    if (links_.size() == kMaxForeignEdges) reader_.fail("too many edges");
    MsrLink link;
    link.at = reader_.value_position();
    read_foreign_json_object(reader_, [&](std::string_view key) {
      if (key == "sourceId") {
        link.from = read_identifier(reader_);
      } else if (key == "destId") {
        link.to = read_identifier(reader_);
      } else if (key == "cost") {
        link.cost = read_quantity(reader_, key) * kSecondsPerUnit;
      } else if (key == "size") {
        link.bytes = read_quantity(reader_, key);
      } else {
        return false;
      }
      return true;
    });
    links_.push_back(std::move(link));
  }

  // Adds the nodes. The memory of a node is held on its device from start to end, as the benchmark
  // counts it.
  void add_nodes() {
    std::map<double, std::vector<NodeId>> classes;
    for (const MsrLayer& layer : layers_) {
      graph::NodeSpec spec{.name = layer.name.empty() ? "node" + layer.id : layer.name,
                           .op = layer.backward ? "backward" : "forward"};
      spec.times_by_kind.emplace_back("cpu", layer.cpu);
      if (layer.on_accelerator) spec.times_by_kind.emplace_back("accelerator", layer.accelerator);
      unsupported_ += !layer.on_accelerator;
      const NodeId node = tasks_.add(std::move(spec), layer.at);
      if (!node_of_.emplace(layer.id, node).second) {
        reader_.fail_at(layer.at, fmt::format("the id {} stands twice", layer.id));
      }
      if (layer.color) classes[*layer.color].push_back(node);
      if (layer.bytes > 0.0) {
        tasks_.add_parameter(fmt::format("{}.memory", layer.name.empty() ? layer.id : layer.name),
                             layer.bytes, {node});
      }
    }
    for (auto& [color, nodes] : classes) tasks_.colocate(std::move(nodes));
  }

  // Adds the edges. In the benchmark only nodes take up memory, and moving a result takes its given
  // cost. On the benchmark's own devices results therefore have no size; on others they have one.
  void add_edges() {
    for (const MsrLink& link : links_) {
      tasks_.connect(node(link.from, link.at), node(link.to, link.at),
                     own_devices_ ? std::nullopt : link.bytes, link.cost);
    }
  }

  NodeId node(const std::string& id, std::size_t at) const {
    const auto found = node_of_.find(id);
    if (found == node_of_.end()) reader_.fail_at(at, fmt::format("there is no node {}", id));
    return found->second;
  }

  device::TopologySpec machine() const {
    device::TopologySpec spec;
    spec.name = "file";
    spec.description =
        fmt::format("{} accelerators of {:.4g} GB and {} CPU cores, as the file says",
                    accelerators_, memory_ / 1e9, cpus_);
    spec.kinds = {{.name = "accelerator", .device_class = device::DeviceClass::kAccelerator},
                  {.name = "cpu", .device_class = device::DeviceClass::kCpu}};
    spec.groups = {{.name = "host"}};
    // Links have no speed, since the cost of each transfer is given.
    spec.pairwise_links = device::Channel{.name = "link"};
    constexpr double kMostBytes = 1e18;
    for (std::size_t a = 0; a < accelerators_; ++a) {
      spec.devices.push_back({.name = fmt::format("acc{}", a),
                              .kind = 0,
                              .memory_bytes = memory_ < kMostBytes
                                                  ? static_cast<std::uint64_t>(memory_)
                                                  : device::kUnlimitedMemory});
    }
    for (std::size_t c = 0; c < cpus_; ++c) {
      spec.devices.push_back({.name = fmt::format("cpu{}", c), .kind = 1});
    }
    return spec;
  }

  const std::string& file_;
  JsonReader reader_;
  TaskGraph tasks_;
  double memory_ = 0.0;
  std::size_t accelerators_ = 0, cpus_ = 0;
  std::vector<MsrLayer> layers_;
  std::vector<MsrLink> links_;
  std::map<std::string, NodeId> node_of_;
  std::size_t unsupported_ = 0;
  bool own_devices_;
};

}  // namespace

bool is_msr(const Content& content) {
  return content.json.has("maxSizePerFPGA") || content.json.first_has("nodes", "fpgaLatency");
}

Imported read_msr(const std::string& file, std::string_view text, const ImportOptions& options) {
  return MsrReader(file, text, options.own_devices).read();
}

}  // namespace doppler::formats
