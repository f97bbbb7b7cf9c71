// `single`: everything on one device, the best of them by simulated makespan; nodes that may not
// run there go to the first device that they may run on. Priorities: b-levels.
#include <algorithm>

#include "doppler/base/parallel.h"
#include "doppler/base/rng.h"
#include "doppler/place/feasible.h"
#include "doppler/place/registry.h"

namespace doppler::place {

namespace {

using schedule::Placement;

// Devices that are worth a simulation: those with the least total compute time.
constexpr std::size_t kMostCandidates = 16;

Placement all_on(const cost::Problem& problem, DeviceId device) {
  std::vector<DeviceId> devices(problem.node_count());
  for (std::size_t v = 0; v < devices.size(); ++v) {
    const NodeId node = NodeId::of(v);
    devices[v] = problem.allowed(node, device) ? device : problem.allowed_devices(node).front();
  }
  return schedule::with_b_levels(problem, std::move(devices));
}

double total_time(const cost::Problem& problem, DeviceId device) {
  double total = 0.0;
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    const NodeId node = NodeId::of(v);
    total += problem.compute_time(
        node, problem.allowed(node, device) ? device : problem.allowed_devices(node).front());
  }
  return total;
}

std::vector<DeviceId> candidates(const cost::Problem& problem) {
  std::vector<double> total(problem.device_count());
  std::vector<DeviceId> devices(problem.device_count());
  // Without constraints and homes nothing moves, so that the kind alone makes the difference.
  const bool kind_decides = !problem.constrained() && problem.homed().empty();
  std::vector<double> of_column(problem.column_count(), -1.0);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    devices[d] = DeviceId::of(d);
    double& known = of_column[problem.column(devices[d])];
    if (!kind_decides || known < 0.0) known = total_time(problem, devices[d]);
    total[d] = known;
  }
  std::stable_sort(devices.begin(), devices.end(),
                   [&](DeviceId a, DeviceId b) { return total[a.index()] < total[b.index()]; });
  // Where memory may bind a device with more of it is worth a look even if it is no faster.
  devices.resize(
      kind_decides && !problem.memory_can_bind() ? 1 : std::min(devices.size(), kMostCandidates));
  return devices;
}

class Single final : public Placer {
 public:
  std::string_view name() const override { return "single"; }
  std::string_view summary() const override { return "everything on the best single device"; }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    const std::vector<DeviceId> devices = candidates(problem);
    PlaceResult result;
    if (devices.size() == 1) {
      result.placement = all_on(problem, devices.front());
    } else {
      // Those that fit come first, then the shorter makespan, then the earlier candidate.
      std::vector<std::pair<double, double>> value(devices.size());
      parallel_for(devices.size(), request.threads, [&](std::size_t i) {
        const Placement placement = all_on(problem, devices[i]);
        MemoryFit gauge(problem);
        const double excess = gauge.excess_bytes(placement);
        value[i] = {excess, gauge.makespan()};
      });
      const auto best = std::min_element(value.begin(), value.end()) - value.begin();
      result.placement = all_on(problem, devices[static_cast<std::size_t>(best)]);
      result.evaluations = devices.size();
    }
    result.placement = make_feasible(problem, std::move(result.placement), request.seed);
    return result;
  }
};

// `random`: one placement drawn uniformly, each unit on any device that it may run on. Priorities:
// b-levels.

class Random final : public Placer {
 public:
  std::string_view name() const override { return "random"; }
  std::string_view summary() const override { return "a random device for every node"; }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    Rng rng = Rng::stream(request.seed, 0);
    std::vector<DeviceId> device(problem.node_count());
    for (std::uint32_t u = 0; u < problem.unit_count(); ++u) {
      const auto allowed = problem.allowed_devices(problem.unit(u).front());
      const DeviceId chosen = allowed[rng.below(static_cast<std::uint32_t>(allowed.size()))];
      for (const NodeId node : problem.unit(u)) device[node.index()] = chosen;
    }
    PlaceResult result;
    result.placement =
        make_feasible(problem, schedule::with_b_levels(problem, std::move(device)), request.seed);
    return result;
  }
};

// `round-robin`: nodes in topological order, each on the next device in turn that it may run on.
// Colocated nodes take one turn together. Priorities: b-levels.

class RoundRobin final : public Placer {
 public:
  std::string_view name() const override { return "round-robin"; }
  std::string_view summary() const override { return "devices in turn, in topological order"; }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    std::vector<DeviceId> device(problem.node_count());
    std::size_t turn = 0;
    for (const NodeId node : problem.graph().topological_order()) {
      if (device[node.index()].valid()) continue;  // went with an earlier node of its unit
      while (!problem.allowed(node, DeviceId::of(turn))) turn = (turn + 1) % problem.device_count();
      for (const NodeId member : problem.unit(problem.unit_of(node))) {
        device[member.index()] = DeviceId::of(turn);
      }
      turn = (turn + 1) % problem.device_count();
    }
    PlaceResult result;
    result.placement =
        make_feasible(problem, schedule::with_b_levels(problem, std::move(device)), request.seed);
    return result;
  }
};

}  // namespace

std::unique_ptr<Placer> make_single() {
  return std::make_unique<Single>();
}

std::unique_ptr<Placer> make_random() {
  return std::make_unique<Random>();
}

std::unique_ptr<Placer> make_round_robin() {
  return std::make_unique<RoundRobin>();
}

}  // namespace doppler::place
