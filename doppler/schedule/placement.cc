#include "doppler/schedule/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/json_writer.h"
#include "doppler/base/text.h"

namespace doppler::schedule {

void b_levels(const cost::Problem& problem, std::span<const DeviceId> device,
              std::vector<double>& levels) {
  levels.resize(problem.node_count());
  const auto order = problem.graph().topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const DeviceId here = device[it->index()];
    double longest = 0.0;
    for (const cost::Problem::Edge& edge : problem.edges_from(*it)) {
      const DeviceId there = device[edge.consumer.index()];
      double way = levels[edge.consumer.index()];
      if (there != here) way += problem.transfer_time(edge, here, there);
      longest = std::max(longest, way);
    }
    levels[it->index()] = longest + problem.compute_time(*it, here);
  }
}

Placement with_b_levels(const cost::Problem& problem, std::vector<DeviceId> device) {
  Placement placement{.device = std::move(device), .priority = {}};
  b_levels(problem, placement.device, placement.priority);
  return placement;
}

void check_placement(const cost::Problem& problem, const Placement& placement) {
  const std::size_t nodes = problem.node_count();
  if (placement.device.size() != nodes || placement.priority.size() != nodes) {
    throw ParameterError(fmt::format("the placement is for {} nodes, the graph has {}",
                                     placement.device.size(), nodes));
  }
  for (std::size_t v = 0; v < nodes; ++v) {
    const NodeId node = NodeId::of(v);
    const auto name = [&] { return problem.graph().node_name(node); };
    const DeviceId device = placement.device[v];
    if (device.index() >= problem.device_count()) {
      throw ParameterError(fmt::format("node '{}' is on a device that does not exist", name()));
    }
    if (std::isnan(placement.priority[v])) {
      throw ParameterError(fmt::format("node '{}' has a priority that is not a number", name()));
    }
    if (!problem.allowed(node, device)) {
      throw InfeasibleError(fmt::format("node '{}' must not run on '{}'", name(),
                                        problem.topology().device(device).name));
    }
    const NodeId first = problem.unit(problem.unit_of(node)).front();
    if (placement.device[first.index()] != device) {
      throw InfeasibleError(fmt::format("nodes '{}' and '{}' must share a device", name(),
                                        problem.graph().node_name(first)));
    }
  }
}

namespace {

using cost::CostSource;
using cost::LinkMode;

constexpr std::string_view kFormat = "doppler.placement";
constexpr std::uint64_t kVersion = 1;
// The largest size that a file may give for an open dimension.
constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 40;

// Reads a name and returns the one of `values` that has it. Fails, listing the known names, if none
// has.
template <class Value, class NameOf>
Value read_choice(JsonReader& reader, std::initializer_list<Value> values, const NameOf& name_of) {
  const std::string text = reader.string();
  std::string known;
  for (const Value value : values) {
    if (text == name_of(value)) return value;
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", name_of(value));
  }
  reader.fail(fmt::format("'{}' is none of {}", text, known));
}

// Writes a path that may have any bytes. JSON has text only: where the path is none, its bytes
// stand beside it in base64.
void write_path(JsonWriter& json, const std::string& key, const std::string& path) {
  json.field(key, path);
  if (valid_utf8_prefix(path) == path.size()) return;
  json.field(key + "_bytes", to_base64(std::as_bytes(std::span<const char>(path))));
}

// Reads what write_path() wrote behind the path.
std::string read_path_bytes(JsonReader& reader) {
  const auto bytes = from_base64(reader.string());
  if (!bytes) reader.fail("damaged bytes of a path");
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

bool read_origin_key(JsonReader& reader, const std::string& key, PlacementOrigin& origin) {
  if (key == "graph") return origin.graph = reader.string(), true;
  if (key == "graph_bytes") return origin.graph = read_path_bytes(reader), true;
  if (key == "devices_bytes") return origin.devices = read_path_bytes(reader), true;
  if (key == "graph_hash") return origin.graph_hash = read_json_hash(reader), true;
  if (key == "graph_format") return origin.graph_format = reader.string(), true;
  if (key == "dimensions") {
    read_json_object(reader, "'dimensions'", [&](const std::string& name) {
      const std::uint64_t size = reader.unsigned_integer(kLargestSize);
      if (size == 0) reader.fail("a dimension has a size from 1");
      origin.dimensions[name] = static_cast<std::int64_t>(size);
      return true;
    });
    return true;
  }
  if (key == "constraints") return origin.constraints = cost::read_constraint_rules(reader), true;
  if (key == "devices") return origin.devices = reader.string(), true;
  if (key == "topology_hash") return origin.topology_hash = read_json_hash(reader), true;
  if (key == "links") {
    origin.links = read_choice(reader, {LinkMode::kFree, LinkMode::kChannel}, links_name);
    return true;
  }
  if (key == "costs") {
    origin.costs = read_choice(reader,
                               {CostSource::kAutomatic, CostSource::kGiven, CostSource::kPredicted,
                                CostSource::kRoofline, CostSource::kMeasured},
                               costs_name);
    return true;
  }
  if (key == "precision") {
    const std::string name = reader.string();
    origin.precision = find_element_type(name);
    if (!origin.precision || !is_deployable(*origin.precision)) {
      reader.fail(fmt::format("no model is deployed in '{}'", name));
    }
    return true;
  }
  if (key == "method") return origin.method = reader.string(), true;
  if (key == "seed") return origin.seed = reader.unsigned_integer(UINT64_MAX), true;
  if (key == "makespan") return origin.makespan = reader.number(), true;
  if (key == "time_unit") return origin.time_unit = reader.string(), true;
  return false;
}

// Reads {node name: value}; `read(node)` reads the value. Returns which nodes were there.
template <class Read>
std::vector<std::uint8_t> read_by_node(JsonReader& reader, const graph::Graph& graph,
                                       const Read& read) {
  std::vector<std::uint8_t> seen(graph.node_count(), 0);
  reader.begin_object();
  while (const auto key = reader.next_key()) {
    const auto node = graph.find_node(*key);
    if (!node) reader.fail(fmt::format("the graph has no node '{}'", *key));
    if (seen[node->index()]) reader.fail(fmt::format("node '{}' stands twice", *key));
    seen[node->index()] = 1;
    read(*node);
  }
  return seen;
}

void require_all(const JsonReader& reader, std::size_t position, const graph::Graph& graph,
                 const std::vector<std::uint8_t>& seen, const char* what) {
  std::size_t missing = 0;
  NodeId first;
  for (std::size_t v = seen.size(); v-- > 0;) {
    if (seen[v]) continue;
    ++missing;
    first = NodeId::of(v);
  }
  if (missing == 0) return;
  reader.fail_at(position,
                 fmt::format("node '{}' has no {}{}", graph.node_name(first), what,
                             missing > 1 ? fmt::format(", nor have {} more", missing - 1) : ""));
}

void warn_of_differences(const PlacementOrigin& made, const cost::Problem& problem,
                         std::vector<std::string>& warnings) {
  if (made.graph_hash && made.graph_hash != problem.graph().hash()) {
    warnings.push_back("the placement was made for another version of this graph");
  }
  if (made.topology_hash && made.topology_hash != problem.topology().hash()) {
    warnings.push_back(fmt::format("the placement was made for other devices ({})", made.devices));
  }
  if (made.links && made.links != problem.links()) {
    warnings.push_back(fmt::format("the placement was made with links '{}', now they are '{}'",
                                   links_name(*made.links), links_name(problem.links())));
  }
  if (made.costs && made.costs != problem.costs()) {
    warnings.push_back(fmt::format("the placement was made with costs '{}', now they are '{}'",
                                   costs_name(*made.costs), costs_name(problem.costs())));
  }
  if (made.precision != problem.precision()) {
    const auto name = [](cost::Precision precision) {
      return precision ? element_type_name(*precision) : std::string_view("the types of its file");
    };
    warnings.push_back(
        fmt::format("the placement was made for the model in {}, and here the model is in {}",
                    name(made.precision), name(problem.precision())));
  }
}

}  // namespace

std::string_view links_name(LinkMode links) {
  return links == LinkMode::kFree ? "free" : "channel";
}

std::string_view costs_name(CostSource costs) {
  switch (costs) {
    case CostSource::kGiven:
      return "given";
    case CostSource::kPredicted:
      return "predicted";
    case CostSource::kRoofline:
      return "roofline";
    case CostSource::kMeasured:
      return "measured";
    case CostSource::kAutomatic:
      break;
  }
  return "automatic";
}

PlacementOrigin origin_of(const cost::Problem& problem, std::string graph_path,
                          std::string devices) {
  return {.graph = std::move(graph_path),
          .devices = std::move(devices),
          .graph_hash = problem.graph().hash(),
          .topology_hash = problem.topology().hash(),
          .links = problem.links(),
          .costs = problem.costs(),
          .precision = problem.precision(),
          .method = {},
          .time_unit = problem.time_unit()};
}

std::string write_placement_json(const cost::Problem& problem, const PlacementFile& file) {
  const graph::Graph& graph = problem.graph();
  const PlacementOrigin& origin = file.origin;
  DOPPLER_CHECK(file.placement.device.size() == graph.node_count() &&
                file.placement.priority.size() == graph.node_count());
  JsonWriter json;
  json.begin_object();
  json.field("format", kFormat).field("version", kVersion);
  write_path(json, "graph", origin.graph);
  if (origin.graph_hash) json.field("graph_hash", hash_to_string(*origin.graph_hash));
  if (!origin.graph_format.empty()) json.field("graph_format", origin.graph_format);
  if (!origin.dimensions.empty()) {
    json.key("dimensions").begin_object(JsonLayout::kCompact);
    for (const auto& [name, size] : origin.dimensions) json.field(name, size);
    json.end_object();
  }
  write_path(json, "devices", origin.devices);
  if (origin.topology_hash) json.field("topology_hash", hash_to_string(*origin.topology_hash));
  if (origin.links) json.field("links", links_name(*origin.links));
  if (origin.costs) json.field("costs", costs_name(*origin.costs));
  if (origin.precision) json.field("precision", element_type_name(*origin.precision));
  if (!origin.constraints.empty()) {
    cost::write_constraint_rules(json.key("constraints"), origin.constraints);
  }
  json.field("method", origin.method).field("seed", origin.seed);
  if (origin.makespan) json.field("makespan", *origin.makespan);
  json.field("time_unit", origin.time_unit);
  json.key("assignment").begin_object();
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    json.field(graph.node_name(NodeId::of(v)),
               problem.topology().device(file.placement.device[v]).name);
  }
  json.end_object();
  json.key("priority").begin_object();
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const double priority = file.placement.priority[v];
    if (!std::isfinite(priority)) {
      throw ParameterError(fmt::format("the priority of node '{}' is not a finite number",
                                       graph.node_name(NodeId::of(v))));
    }
    json.field(graph.node_name(NodeId::of(v)), priority);
  }
  json.end_object();
  json.end_object();
  return json.take();
}

PlacementFile read_placement_json(const std::string& file, std::string_view text,
                                  const cost::Problem& problem,
                                  std::vector<std::string>& warnings) {
  const graph::Graph& graph = problem.graph();
  const device::Topology& topology = problem.topology();
  JsonReader reader(file, text);
  JsonFormatKeys format(kFormat, kVersion);
  PlacementFile result;
  std::vector<DeviceId>& device = result.placement.device;
  std::vector<double>& priority = result.placement.priority;
  read_json_object(reader, "the placement", [&](const std::string& key) {
    if (format.read(reader, key) || read_origin_key(reader, key, result.origin)) return true;
    const std::size_t position = reader.position();
    if (key == "assignment") {
      device.resize(graph.node_count());
      const auto seen = read_by_node(reader, graph, [&](NodeId node) {
        const std::string name = reader.string();
        const auto found = topology.find_device(name);
        if (!found) reader.fail(fmt::format("{} has no device '{}'", topology.name(), name));
        device[node.index()] = *found;
      });
      require_all(reader, position, graph, seen, "device");
      return true;
    }
    if (key == "priority") {
      priority.resize(graph.node_count());
      const auto seen = read_by_node(
          reader, graph, [&](NodeId node) { priority[node.index()] = reader.number(); });
      require_all(reader, position, graph, seen, "priority");
      return true;
    }
    return false;
  });
  reader.finish();
  format.require(reader);
  if (device.empty()) reader.fail_at(0, "no key 'assignment'");
  if (priority.empty()) b_levels(problem, device, priority);
  warn_of_differences(result.origin, problem, warnings);
  return result;
}

Placement read_checked_placement(const std::string& file, std::string_view text,
                                 const cost::Problem& problem, std::vector<std::string>& warnings,
                                 bool same_graph) {
  PlacementFile read = read_placement_json(file, text, problem, warnings);
  const std::uint64_t hash = problem.graph().hash();
  if (same_graph && read.origin.graph_hash.value_or(hash) != hash) {
    throw InputError(
        fmt::format("{}: the placement was made for another graph ({}): place this one first", file,
                    read.origin.graph));
  }
  try {
    check_placement(problem, read.placement);
  } catch (const InfeasibleError& error) {
    throw InfeasibleError(fmt::format("{}: {}", file, error.what()));
  }
  return std::move(read.placement);
}

PlacementOrigin read_placement_origin(const std::string& file, std::string_view text) {
  JsonReader reader(file, text);
  JsonFormatKeys format(kFormat, kVersion);
  PlacementOrigin origin;
  read_json_object(reader, "the placement", [&](const std::string& key) {
    if (format.read(reader, key) || read_origin_key(reader, key, origin)) return true;
    if (key != "assignment" && key != "priority") return false;
    reader.skip_value();
    return true;
  });
  reader.finish();
  format.require(reader);
  return origin;
}

}  // namespace doppler::schedule
