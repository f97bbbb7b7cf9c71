#include "doppler/cost/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/cost/calibration.h"
#include "doppler/cost/conflict.h"
#include "doppler/cost/cost_model.h"
#include "doppler/cost/measured_costs.h"
#include "doppler/cost/predicted.h"

namespace doppler::cost {

using graph::TensorRole;

namespace {

// The most channels that all routes together may list: 500 MB of ids. 4096 devices in groups, with
// the four channels of composed routes, come to 67 million; 4096 cards in one box whose copies go
// through host memory come to 101 million.
constexpr std::size_t kMostRouteChannels = 125'000'000;

// Throws InputError if the measured costs are of another graph or of no kind of device in the
// topology, so that nothing of them could be used.
void check_measured(const MeasuredCosts& costs, const graph::Graph& graph,
                    const device::Topology& topology) {
  const std::string from = costs.file.empty() ? "" : costs.file + ": ";
  if (costs.graph_hash != graph.hash()) {
    throw InputError(from + "the costs were measured for another graph");
  }
  for (const device::DeviceKind& kind : topology.kinds()) {
    const auto& measured = costs.kinds;
    if (std::find(measured.begin(), measured.end(), kind.name) != measured.end()) return;
  }
  throw InputError(from + fmt::format("the costs were measured on {}, of which {} has none",
                                      fmt::join(costs.kinds, ", "), topology.name()));
}

}  // namespace

Problem::Problem(std::shared_ptr<const graph::Graph> graph,
                 std::shared_ptr<const device::Topology> topology, ProblemOptions options)
    : graph_(std::move(graph)),
      topology_(std::move(topology)),
      costs_(options.costs),
      precision_(options.precision),
      measured_(std::move(options.measured)) {
  DOPPLER_CHECK(graph_ && topology_);
  if (costs_ == CostSource::kMeasured) {
    if (!measured_) throw ParameterError("measured costs are asked for and none are there");
    costs_ = CostSource::kAutomatic;
  }
  if (measured_) check_measured(*measured_, *graph_, *topology_);
  links_ = options.links.value_or(topology_->given_costs_by_default() ? LinkMode::kFree
                                                                      : LinkMode::kChannel);
  link_figures_ = options.link_figures.value_or(
      costs_ == CostSource::kRoofline ? LinkFigures::kDataSheet : LinkFigures::kAchieved);
  if (costs_ == CostSource::kAutomatic && topology_->given_costs_by_default()) {
    costs_ = CostSource::kGiven;
  }
  if (precision_ &&
      (measured_ || costs_ == CostSource::kGiven || costs_ == CostSource::kRoofline)) {
    throw ParameterError(
        fmt::format("a precision ({}) changes predicted costs, and these costs are {}",
                    element_type_name(*precision_),
                    measured_                      ? "measured"
                    : costs_ == CostSource::kGiven ? "given"
                                                   : "a roofline in f32"));
  }
  if (graph_->node_count() == 0) throw InputError("the graph has no nodes");
  build_compute();
  build_links();
  build_transfers();
  build_edges();
  check_total();
  build_memory(options.constraints);
  build_constraints(options.constraints);
  compute_hash();
}

void Problem::build_compute() {
  const GivenByKind by_kind;
  const GivenSingle single;
  const Roofline roofline;
  const Predicted predicted(*graph_, precision_);
  struct Source {
    const CostModel* model;
    TimeOrigin origin;
  };
  std::vector<Source> sources;
  std::optional<Measured> measured;
  if (measured_) {
    sources.push_back({&measured.emplace(*measured_, node_count()), TimeOrigin::kMeasured});
  }
  if (!derived_only()) sources.push_back({&by_kind, TimeOrigin::kGiven});
  if (costs_ == CostSource::kRoofline) {
    sources.push_back({&roofline, TimeOrigin::kPredicted});
  } else if (costs_ != CostSource::kGiven) {
    sources.push_back({&predicted, TimeOrigin::kPredicted});
  }
  if (!derived_only()) sources.push_back({&single, TimeOrigin::kGiven});

  const auto kinds = topology_->kinds();
  if (derived_only() && std::none_of(kinds.begin(), kinds.end(), [](const auto& kind) {
        return kind.peak_flops || kind.memory_bandwidth;
      })) {
    throw InputError(fmt::format(
        "{} has no peaks and bandwidths, by which times are predicted: name a machine, such as "
        "4xA100, or take the times that are given",
        topology_->name()));
  }
  columns_ = kinds.size();
  for (const device::Device& device : topology_->devices()) column_.push_back(device.kind);
  compute_.assign(node_count() * columns_, kInfinity);
  for (std::size_t v = 0; v < node_count(); ++v) {
    const NodeId node = NodeId::of(v);
    bool known = false;
    for (std::size_t k = 0; k < columns_; ++k) {
      for (const Source& source : sources) {
        const auto time = source.model->node_time(*graph_, node, kinds[k]);
        if (!time) continue;
        if (!(*time < kInfinity)) {
          throw InputError(fmt::format("the time of node '{}' on {} is too large to compute with",
                                       graph_->node_name(node), kinds[k].name));
        }
        compute_[v * columns_ + k] = *time;
        ++times_from_[static_cast<std::size_t>(source.origin)];
        known = true;
        break;
      }
    }
    // A node that has times for some kinds of devices cannot run on the others. A node without any
    // is an error.
    if (!known) {
      throw InputError(fmt::format("node '{}' has no {} that gives its cost on {}",
                                   graph_->node_name(node),
                                   costs_ == CostSource::kGiven ? "time"
                                   : derived_only()             ? "flops or bytes"
                                                                : "time, flops or bytes",
                                   topology_->name()));
    }
  }
  if (precision_ && times_from(TimeOrigin::kPredicted) == 0) {
    throw ParameterError(
        fmt::format("a precision ({}) changes predicted times, and the times of all nodes of '{}' "
                    "are given: predict them, or leave it out",
                    element_type_name(*precision_), graph_->name()));
  }
  time_unit_ = graph_->time_unit();
  if (has_seconds() && time_unit_ != "s") {
    if (times_from(TimeOrigin::kGiven) > 0) {
      throw InputError(
          fmt::format("some nodes have given times in '{}' and others only {}flops or bytes, which "
                      "give seconds",
                      time_unit_, measured_ ? "measured times, " : ""),
          Hint::kGivenOrPredictedCosts);
    }
    time_unit_ = "s";
  }
}

void Problem::build_links() {
  const std::size_t devices = device_count();
  link_class_.assign(devices * devices, 0);
  link_classes_.push_back({0.0, kInfinity});  // a device and itself
  std::map<std::pair<double, double>, std::uint32_t> classes;
  const bool channels = links_ == LinkMode::kChannel;
  std::vector<device::Channel> channel_table;
  const bool pairwise = topology_->pairwise_links();
  if (!pairwise) {
    for (std::size_t c = 0; c < topology_->channel_count(); ++c) {
      channel_table.push_back(topology_->channel(ChannelId::of(c)));
    }
  } else {
    channel_table.push_back(topology_->channel(ChannelId(0)));
  }
  const auto channel_of = [&](ChannelId id) -> const device::Channel& {
    return channel_table[pairwise ? 0 : id.index()];
  };
  std::vector<std::uint32_t> route_offsets{0};
  std::vector<ChannelId> route_channels, route;
  for (std::size_t from = 0; from < devices; ++from) {
    for (std::size_t to = 0; to < devices; ++to) {
      topology_->route(DeviceId::of(from), DeviceId::of(to), route);
      if (from != to) {
        double latency = 0.0, bandwidth = kInfinity;
        bool known = !route.empty();
        for (const ChannelId id : route) {
          const device::Channel& channel = channel_of(id);
          const bool achieved = channel.achieved && link_figures_ == LinkFigures::kAchieved;
          latency += achieved ? channel.achieved->latency_seconds : channel.latency_seconds;
          if (achieved) {
            bandwidth = std::min(bandwidth, channel.achieved->bandwidth);
          } else if (channel.bandwidth) {
            bandwidth = std::min(bandwidth, *channel.bandwidth);
          } else {
            known = false;
          }
        }
        if (!known) bandwidth = 0.0;  // build_transfers refuses to use it
        const auto [entry, added] = classes.try_emplace(
            {latency, bandwidth}, static_cast<std::uint32_t>(link_classes_.size()));
        if (added) link_classes_.push_back({latency, bandwidth});
        link_class_[from * devices + to] = entry->second;
      }
      if (channels) {
        route_channels.insert(route_channels.end(), route.begin(), route.end());
        if (route_channels.size() > kMostRouteChannels) {
          throw InputError(fmt::format(
              "the routes between the {} devices of {} have more than {} channels in all: give "
              "them fewer channels, or links of their own",
              devices, topology_->name(), kMostRouteChannels));
        }
        route_offsets.push_back(static_cast<std::uint32_t>(route_channels.size()));
      }
    }
  }
  topology_links_ = link_classes_;
  if (measured_) {
    for (std::size_t c = 1; c < link_classes_.size(); ++c) {
      const Link& nominal = topology_links_[c];
      // Links without a bandwidth take given times, which measurements do not change.
      if (nominal.bandwidth > 0.0) link_classes_[c] = measured_->link(nominal).value_or(nominal);
    }
  }
  if (channels) {
    routes_ = Csr<ChannelId>(std::move(route_offsets), std::move(route_channels));
    channel_capacity_.resize(topology_->channel_count());
    for (std::size_t c = 0; c < channel_capacity_.size(); ++c) {
      channel_capacity_[c] = channel_of(ChannelId::of(c)).capacity;
    }
  }
}

// Decides for each tensor whether its transfers take bytes / bandwidth or a given time.
void Problem::build_transfers() {
  const std::size_t tensors = tensor_count();
  bool links_have_bandwidth = true;
  for (const Link& l : link_classes_) links_have_bandwidth &= l.bandwidth > 0.0;
  by_bytes_.assign(tensors, 0);
  tensor_amount_.assign(tensors, 0.0);
  bool given = false, derived = false;
  for (std::size_t t = 0; t < tensors; ++t) {
    const TensorId tensor = TensorId::of(t);
    const auto bytes = tensor_bytes(*graph_, tensor, precision_);
    const auto time = graph_->transfer_time(tensor);
    const std::size_t consumers = graph_->consumers(tensor).size();
    bool any_given = time.has_value();
    bool all_consumers_given = consumers > 0;
    for (std::size_t i = 0; i < consumers; ++i) {
      const bool has = graph_->transfer_time(tensor, i).has_value();
      any_given |= has;
      all_consumers_given &= has;
    }
    const bool bytes_usable = bytes && links_have_bandwidth && costs_ != CostSource::kGiven;
    const bool given_usable =
        !derived_only() && any_given && (time.has_value() || all_consumers_given);
    const bool moves =
        device_count() > 1 &&
        ((consumers > 0 && (graph_->producer(tensor).valid() || !graph_->home(tensor).empty())) ||
         graph_->updates(tensor).valid());
    if (bytes_usable) {
      by_bytes_[t] = 1;
      tensor_amount_[t] = *bytes;
      derived |= moves;
    } else if (given_usable) {
      double amount = time.value_or(0.0);
      if (!time) {
        for (std::size_t i = 0; i < consumers; ++i) {
          amount = std::max(amount, *graph_->transfer_time(tensor, i));
        }
      }
      tensor_amount_[t] = amount;
      given |= moves;
    } else if (moves) {
      throw InputError(fmt::format("tensor '{}' has no {} that gives its transfer time on {}",
                                   graph_->tensor_name(tensor),
                                   costs_ == CostSource::kGiven ? "transfer time"
                                   : derived_only()             ? "bytes"
                                                                : "bytes or transfer time",
                                   topology_->name()));
    }
    all_given_ &= by_bytes_[t] == 0;
  }
  const bool any_seconds = derived || has_seconds();
  const bool any_units = given || times_from(TimeOrigin::kGiven) > 0;
  if (graph_->time_unit() != "s" && any_seconds && any_units) {
    throw InputError(
        fmt::format("times given in '{}' would be mixed with seconds {}derived from flops or bytes",
                    graph_->time_unit(), measured_ ? "measured or " : ""),
        Hint::kGivenOrPredictedCosts);
  }
}

void Problem::build_edges() {
  const std::size_t nodes = node_count();
  const std::size_t tensors = tensor_count();
  home_.assign(tensors, DeviceId());
  for (std::size_t t = 0; t < tensors; ++t) {
    const TensorId tensor = TensorId::of(t);
    const auto name = graph_->home(tensor);
    has_updates_ |= graph_->updates(tensor).valid();
    if (name.empty()) continue;
    const auto device = topology_->find_device(name);
    if (!device) {
      throw InputError(fmt::format("tensor '{}' has its home on '{}', which {} does not have",
                                   graph_->tensor_name(tensor), name, topology_->name()));
    }
    home_[t] = *device;
    homed_.push_back(tensor);
  }
  tensor_edges_.assign(tensors, 0);
  tensor_edge_count_.assign(tensors, 0);
  node_edges_.assign(nodes + 1, 0);
  edges_.reserve(graph_->edge_count());
  const auto add_tensor = [&](TensorId tensor) {
    const auto consumers = graph_->consumers(tensor);
    tensor_edges_[tensor.index()] = static_cast<std::uint32_t>(edges_.size());
    tensor_edge_count_[tensor.index()] = static_cast<std::uint32_t>(consumers.size());
    for (std::size_t i = 0; i < consumers.size(); ++i) {
      double amount = tensor_amount_[tensor.index()];
      if (!transfer_by_bytes(tensor)) amount = graph_->transfer_time(tensor, i).value_or(amount);
      edges_.push_back({consumers[i], tensor, amount});
    }
  };
  for (std::size_t v = 0; v < nodes; ++v) {
    node_edges_[v] = static_cast<std::uint32_t>(edges_.size());
    for (const TensorId tensor : graph_->outputs(NodeId::of(v))) add_tensor(tensor);
  }
  node_edges_[nodes] = static_cast<std::uint32_t>(edges_.size());
  for (const TensorId tensor : homed_) add_tensor(tensor);
  awaited_ = Csr<TensorId>::build(nodes, [&](const auto& visit) {
    for (const Edge& edge : edges_) visit(edge.consumer.index(), edge.tensor);
  });
  awaited_edges_ = Csr<std::uint32_t>::build(nodes, [&](const auto& visit) {
    for (std::uint32_t e = 0; e < edges_.size(); ++e) visit(edges_[e].consumer.index(), e);
  });
}

// Throws if the sum of all costs comes near overflow. A run is never longer than all costs one
// after another, so below that limit no later computation of a time can overflow.
void Problem::check_total() const {
  constexpr double kLargestTotal = 1e290;
  double total = 0.0;
  for (const double time : compute_) {
    if (time < kInfinity) total += time;
  }
  for (const Edge& edge : edges_) total += edge.amount;
  if (!(total < kLargestTotal)) {
    throw InputError(fmt::format(
        "the times and sizes of graph '{}' on {} add up to more than {}: too large to compute with",
        graph_->name(), topology_->name(), kLargestTotal));
  }
}

std::span<const NodeId> Problem::update_readers(TensorId tensor) const {
  const TensorId parameter = graph_->updates(tensor);
  if (!parameter.valid() || home(parameter).valid()) return {};
  return graph_->consumers(parameter);
}

void Problem::build_memory(const graph::Constraints& extra) {
  bytes_.resize(tensor_count());
  double total = 0.0;
  for (std::size_t t = 0; t < bytes_.size(); ++t) {
    bytes_[t] = tensor_bytes(*graph_, TensorId::of(t), precision_).value_or(0.0);
    total += bytes_[t];
  }
  for (const device::Device& device : topology_->devices()) {
    capacity_.push_back(device.memory_bytes == device::kUnlimitedMemory
                            ? kInfinity
                            : static_cast<double>(device.memory_bytes));
  }
  for (const auto* list : {&graph_->constraints().memory, &extra.memory}) {
    for (const auto& entry : *list) {
      const auto device = topology_->find_device(entry.device);
      if (!device) {
        throw InputError(fmt::format("a memory limit names device '{}', which {} does not have",
                                     entry.device, topology_->name()));
      }
      capacity_[device->index()] = static_cast<double>(entry.bytes);
    }
  }
  memory_can_bind_ = total > *std::min_element(capacity_.begin(), capacity_.end());
}

void Problem::build_constraints(const graph::Constraints& extra) {
  const std::size_t nodes = node_count();
  const std::size_t devices = device_count();

  // Units: colocation classes that share a node are merged (union-find, the lowest node is root).
  std::vector<std::uint32_t> parent(nodes);
  std::iota(parent.begin(), parent.end(), 0u);
  const auto root = [&](std::uint32_t v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  for (const auto* list : {&graph_->constraints().colocated, &extra.colocated}) {
    for (const auto& group : *list) {
      for (const NodeId node : group) {
        DOPPLER_CHECK(node.index() < nodes);
        const std::uint32_t a = root(group.front().value()), b = root(node.value());
        parent[std::max(a, b)] = std::min(a, b);
      }
    }
  }
  unit_of_.assign(nodes, 0);
  std::uint32_t units = 0;
  for (std::uint32_t v = 0; v < nodes; ++v)
    unit_of_[v] = root(v) == v ? units++ : unit_of_[root(v)];
  units_ = Csr<NodeId>::build(units, [&](const auto& visit) {
    for (std::uint32_t v = 0; v < nodes; ++v) visit(unit_of_[v], NodeId(v));
  });

  // Bitmaps only for units that are restricted; all others share set 0.
  std::map<std::uint32_t, std::vector<std::uint8_t>> restricted;
  const auto set_of = [&](std::uint32_t unit) -> std::vector<std::uint8_t>& {
    return restricted.try_emplace(unit, std::vector<std::uint8_t>(devices, 1)).first->second;
  };
  for (std::uint32_t v = 0; v < nodes; ++v) {
    const double* row = compute_row(NodeId(v));
    if (std::all_of(row, row + columns_, [](double time) { return time < kInfinity; })) continue;
    auto& set = set_of(unit_of_[v]);
    for (std::size_t d = 0; d < devices; ++d) set[d] &= row[column_[d]] < kInfinity;
  }
  const auto device_of = [&](const graph::Constraints::NodeDevice& entry) {
    const auto device = topology_->find_device(entry.device);
    if (!device) {
      throw InputError(
          fmt::format("a constraint on node '{}' names device '{}', which {} does not have",
                      graph_->node_name(entry.node), entry.device, topology_->name()));
    }
    return *device;
  };
  const auto pin = [&](NodeId node, DeviceId device) {
    DOPPLER_CHECK(node.index() < nodes);
    auto& set = set_of(unit_of_[node.index()]);
    for (std::size_t d = 0; d < devices; ++d) set[d] &= d == device.index();
  };
  for (const auto* constraints : {&graph_->constraints(), &extra}) {
    for (const auto& entry : constraints->pins) pin(entry.node, device_of(entry));
    for (const auto& entry : constraints->forbids) {
      DOPPLER_CHECK(entry.node.index() < nodes);
      set_of(unit_of_[entry.node.index()])[device_of(entry).index()] = 0;
    }
  }
  for (std::size_t t = 0; t < tensor_count(); ++t) {  // an update runs where its parameter lives
    const TensorId parameter = graph_->updates(TensorId::of(t));
    if (parameter.valid() && home(parameter).valid()) {
      pin(graph_->producer(TensorId::of(t)), home(parameter));
    }
  }

  std::map<std::vector<bool>, std::uint32_t> known_sets;
  const auto intern = [&](const std::vector<std::uint8_t>& contains) {
    const auto [entry, added] =
        known_sets.try_emplace(std::vector<bool>(contains.begin(), contains.end()),
                               static_cast<std::uint32_t>(allowed_sets_.size()));
    if (added) {
      AllowedSet set{.devices = {}, .contains = contains};
      for (std::size_t d = 0; d < devices; ++d) {
        if (contains[d]) set.devices.push_back(DeviceId::of(d));
      }
      allowed_sets_.push_back(std::move(set));
    }
    return entry->second;
  };
  intern(std::vector<std::uint8_t>(devices, 1));
  allowed_set_.assign(nodes, 0);
  for (const auto& [unit, contains] : restricted) {
    const std::uint32_t set = intern(contains);
    if (allowed_sets_[set].devices.empty()) {
      throw InfeasibleError(device_conflict(*this, unit, extra));
    }
    for (const NodeId node : units_[unit]) allowed_set_[node.index()] = set;
  }

  find_least_compute();
}

void Problem::find_least_compute() {
  least_compute_.resize(node_count());
  for (std::uint32_t v = 0; v < node_count(); ++v) {
    const double* row = compute_row(NodeId(v));
    if (allowed_set_[v] == 0) {
      least_compute_[v] = *std::min_element(row, row + columns_);
      continue;
    }
    double least = kInfinity;
    for (const DeviceId device : allowed_devices(NodeId(v))) {
      least = std::min(least, row[column_[device.index()]]);
    }
    least_compute_[v] = least;
  }
}

void Problem::compute_hash() {
  Hasher hasher;
  hasher.add(graph_->hash());
  hasher.add(topology_->hash());
  hasher.add(links_);
  hasher.add_span<double>(compute_);
  for (const Edge& edge : edges_) hasher.add(edge.amount);
  if (precision_) hasher.add(*precision_);
  if (link_figures_ == LinkFigures::kAchieved || measured_ ||
      corrected_) {  // else the topology's hash covers them
    for (const Link& link : link_classes_) {
      hasher.add(link.latency_seconds);
      hasher.add(link.bandwidth);
    }
  }
  if (corrected_) hasher.add_span<std::uint32_t>(link_class_);
  hasher.add_span<double>(capacity_);
  hasher.add_span<std::uint32_t>(unit_of_);
  for (std::size_t v = 0; v < node_count(); ++v) {
    for (const DeviceId device : allowed_devices(NodeId::of(v))) {
      if (allowed_set_[v] != 0) hasher.add(device.value());
    }
  }
  hash_ = hasher.value();
}

std::shared_ptr<const Problem> Problem::corrected(const Corrections& corrections) const {
  const std::size_t devices = device_count();
  DOPPLER_CHECK(corrections.node.size() == node_count() * devices);
  DOPPLER_CHECK(corrections.transfer.size() == devices * devices);
  auto problem = std::make_shared<Problem>(*this);
  problem->corrected_ = true;
  problem->columns_ = devices;
  std::iota(problem->column_.begin(), problem->column_.end(), 0u);
  problem->compute_.resize(node_count() * devices);
  for (std::size_t v = 0; v < node_count(); ++v) {
    for (std::size_t d = 0; d < devices; ++d) {
      problem->compute_[v * devices + d] =
          compute_time(NodeId::of(v), DeviceId::of(d)) * corrections.node[v * devices + d];
    }
  }
  problem->find_least_compute();

  // Routes of one class with equal factors stay one class, so that there are few classes even with
  // many devices.
  std::map<std::pair<std::uint32_t, double>, std::uint32_t> classes;
  problem->link_classes_.resize(1);
  problem->topology_links_.resize(1);
  for (std::size_t i = 0; i < devices * devices; ++i) {
    const std::uint32_t old = link_class_[i];
    if (old == 0) continue;  // a device and itself
    const double factor = corrections.transfer[i];
    const auto [entry, added] = classes.try_emplace(
        {old, factor}, static_cast<std::uint32_t>(problem->link_classes_.size()));
    if (added) {
      const Link& link = link_classes_[old];
      problem->link_classes_.push_back({link.latency_seconds * factor, link.bandwidth / factor});
      problem->topology_links_.push_back(topology_links_[old]);
    }
    problem->link_class_[i] = entry->second;
  }
  problem->compute_hash();
  return problem;
}

}  // namespace doppler::cost
