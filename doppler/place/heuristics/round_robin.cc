// `round-robin`: nodes in topological order, each on the next device in turn that it may run on.
// Colocated nodes take one turn together. Priorities: b-levels.
#include "doppler/place/feasible.h"
#include "doppler/place/methods.h"

namespace doppler::place {
namespace {

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

std::unique_ptr<Placer> make_round_robin() {
  return std::make_unique<RoundRobin>();
}

}  // namespace doppler::place
