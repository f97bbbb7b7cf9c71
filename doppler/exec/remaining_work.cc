#include "doppler/exec/remaining_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/cost/measured_costs.h"
#include "doppler/graph/builder.h"

namespace doppler::exec {
namespace {

using graph::TensorRole;

// Returns whether it has to run, by node of the whole graph.
std::vector<std::uint8_t> nodes_to_run(const graph::Graph& graph,
                                       std::span<const std::uint8_t> ended,
                                       std::span<const std::uint8_t> available) {
  std::vector<std::uint8_t> run(graph.node_count(), 0);
  std::vector<NodeId> found;
  const auto add = [&](NodeId node) {
    if (!std::exchange(run[node.index()], std::uint8_t{1})) found.push_back(node);
  };
  const auto need = [&](TensorId tensor) {
    if (graph.producer(tensor).valid() && !available[tensor.index()]) {
      add(graph.producer(tensor));
    }
  };
  for (std::size_t v = 0; v < ended.size(); ++v) {
    if (!ended[v]) add(NodeId::of(v));
  }
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (graph.is_output(tensor) || graph.updates(tensor).valid()) need(tensor);
  }
  while (!found.empty()) {
    const NodeId node = found.back();
    found.pop_back();
    for (const TensorId tensor : graph.inputs(node)) need(tensor);
  }
  return run;
}

// Copies parts of a graph, with the costs that the whole problem has.
class Copier {
 public:
  Copier(const cost::Problem& whole, std::span<const DeviceId> holders,
         std::span<const std::uint8_t> lost)
      : whole_(whole), graph_(whole.graph()), holders_(holders), lost_(lost) {
    builder_.set_name(graph_.name());
    builder_.set_time_unit(whole.time_unit());
    new_node_.resize(graph_.node_count());
    new_tensor_.resize(graph_.tensor_count());
  }

  RemainingWork copy(std::span<const std::uint8_t> run) {
    for (std::size_t v = 0; v < run.size(); ++v) {
      if (run[v]) add_node(NodeId::of(v));
    }
    for (const NodeId node : remaining_.nodes) {
      for (const TensorId tensor : graph_.outputs(node)) add_result(tensor);
    }
    for (const NodeId node : remaining_.nodes) {
      for (const TensorId tensor : graph_.inputs(node)) connect(tensor, node);
    }
    for (const NodeId node : remaining_.nodes) {
      for (const TensorId tensor : graph_.outputs(node)) {
        if (!graph_.updates(tensor).valid()) continue;
        builder_.set_updates(new_tensor_[tensor.index()], given(graph_.updates(tensor)));
      }
    }
    const auto graph = std::make_shared<const graph::Graph>(std::move(builder_).build());
    const bool given_only = whole_.costs() == cost::CostSource::kGiven;
    remaining_.problem = std::make_shared<const cost::Problem>(
        graph, whole_.shared_topology(),
        cost::ProblemOptions{
            .costs = given_only ? cost::CostSource::kGiven : cost::CostSource::kAutomatic,
            .measured = measured_links(*graph),
            .links = whole_.links(),
            .link_figures = whole_.link_figures(),
            .constraints = constraints()});
    return std::move(remaining_);
  }

 private:
  void add_node(NodeId node) {
    graph::NodeSpec spec{.name = std::string(graph_.node_name(node)),
                         .op = std::string(graph_.op_kind(node))};
    const auto devices = whole_.topology().devices();
    const auto kinds = whole_.topology().kinds();
    std::vector<std::uint8_t> seen(kinds.size(), 0);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (std::exchange(seen[devices[d].kind], std::uint8_t{1})) continue;
      const double time = whole_.compute_time(node, DeviceId::of(d));
      if (std::isfinite(time)) spec.times_by_kind.emplace_back(kinds[devices[d].kind].name, time);
    }
    if (const kernel::KernelCall* call = graph_.kernel_call(node)) spec.kernel = *call;
    new_node_[node.index()] = builder_.add_node(std::move(spec));
    remaining_.nodes.push_back(node);
  }

  TensorId add_tensor(TensorId tensor, graph::TensorSpec spec) {
    spec.name = std::string(graph_.tensor_name(tensor));
    // As the whole problem counts them, which knows of the precision of the model.
    if (graph_.bytes(tensor)) spec.bytes = whole_.bytes(tensor);
    if (!whole_.transfer_by_bytes(tensor)) spec.transfer_time = graph_.transfer_time(tensor);
    new_tensor_[tensor.index()] = builder_.add_tensor(std::move(spec));
    remaining_.tensors.push_back(tensor);
    return new_tensor_[tensor.index()];
  }
  void add_result(TensorId tensor) {
    add_tensor(tensor, {.name = {},
                        .producer = new_node_[graph_.producer(tensor).index()],
                        .output = graph_.is_output(tensor)});
  }
  // Adds a tensor that the remaining nodes do not compute, unless it is there, and returns its id.
  TensorId given(TensorId tensor) {
    if (new_tensor_[tensor.index()].valid()) return new_tensor_[tensor.index()];
    const auto device_name = [&](DeviceId device) {
      return device.valid() && !lost_[device.index()] ? whole_.topology().device(device).name
                                                      : std::string();
    };
    const TensorRole role = graph_.role(tensor);
    if (role == TensorRole::kValue) {
      return add_tensor(
          tensor,
          {.name = {}, .role = TensorRole::kInput, .home = device_name(holders_[tensor.index()])});
    }
    return add_tensor(tensor, {.name = {}, .role = role, .home = device_name(whole_.home(tensor))});
  }

  void connect(TensorId tensor, NodeId node) {
    const auto consumers = graph_.consumers(tensor);
    const auto at = std::lower_bound(consumers.begin(), consumers.end(), node) - consumers.begin();
    std::optional<double> time;
    if (!whole_.transfer_by_bytes(tensor)) {
      time = graph_.consumer_transfer_time(tensor, static_cast<std::size_t>(at));
    }
    builder_.connect(given(tensor), new_node_[node.index()], time);
  }

  // Returns the measured costs of the whole without those of nodes, which have got their times.
  std::shared_ptr<const cost::MeasuredCosts> measured_links(const graph::Graph& remaining) const {
    if (!whole_.measured()) return nullptr;
    auto links = std::make_shared<cost::MeasuredCosts>(*whole_.measured());
    links->graph_hash = remaining.hash();
    links->nodes.clear();
    return links;
  }

  // Throws InfeasibleError for a node all of whose devices are lost.
  void require_device(NodeId node) const {
    const auto allowed = whole_.allowed_devices(node);
    if (std::any_of(allowed.begin(), allowed.end(),
                    [&](DeviceId device) { return !lost_[device.index()]; })) {
      return;
    }
    std::string names;
    for (const DeviceId device : allowed) {
      names += (names.empty() ? "" : ", ") + whole_.topology().device(device).name;
    }
    throw InfeasibleError(fmt::format(
        "node '{}' may run on {} only, which {} lost: its work cannot move to another device",
        graph_.node_name(node), names, allowed.size() == 1 ? "is" : "are"));
  }

  graph::Constraints constraints() const {
    graph::Constraints constraints;
    std::map<std::uint32_t, std::vector<NodeId>> units;
    const auto devices = whole_.topology().devices();
    for (const NodeId node : remaining_.nodes) {
      require_device(node);
      const NodeId renamed = new_node_[node.index()];
      units[whole_.unit_of(node)].push_back(renamed);
      for (std::size_t d = 0; d < devices.size(); ++d) {
        if (!lost_[d] && whole_.allowed(node, DeviceId::of(d))) continue;
        constraints.forbids.push_back({renamed, devices[d].name});
      }
    }
    for (auto& [unit, nodes] : units) {
      if (nodes.size() > 1) constraints.colocated.push_back(std::move(nodes));
    }
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const double capacity = whole_.capacity_bytes(DeviceId::of(d));
      if (!std::isfinite(capacity)) continue;
      constraints.memory.push_back({devices[d].name, static_cast<std::uint64_t>(capacity)});
    }
    return constraints;
  }

  const cost::Problem& whole_;
  const graph::Graph& graph_;
  std::span<const DeviceId> holders_;
  std::span<const std::uint8_t> lost_;
  graph::GraphBuilder builder_;
  std::vector<NodeId> new_node_;      // by node of the whole; invalid where it does not run
  std::vector<TensorId> new_tensor_;  // by tensor of the whole
  RemainingWork remaining_;
};

}  // namespace

RemainingWork find_remaining_work(const cost::Problem& whole, std::span<const std::uint8_t> ended,
                                  const SurvivingResults& results,
                                  std::span<const std::uint8_t> lost) {
  const std::vector<std::uint8_t> run = nodes_to_run(whole.graph(), ended, results.available);
  if (std::find(run.begin(), run.end(), 1) == run.end()) return {};
  return Copier(whole, results.holder, lost).copy(run);
}

}  // namespace doppler::exec
