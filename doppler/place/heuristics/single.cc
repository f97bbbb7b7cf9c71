// `single`: everything on one device, the best of them by simulated makespan; nodes that may not
// run there go to the first device that they may run on. Priorities: b-levels.
#include <algorithm>

#include "doppler/base/parallel.h"
#include "doppler/place/feasible.h"
#include "doppler/place/methods.h"

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
        FitGauge gauge(problem);
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

}  // namespace

std::unique_ptr<Placer> make_single() {
  return std::make_unique<Single>();
}

}  // namespace doppler::place
