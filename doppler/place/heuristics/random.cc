// `random`: one placement drawn uniformly, each unit on any device that it may run on. Priorities:
// b-levels.
#include "doppler/base/rng.h"
#include "doppler/place/feasible.h"
#include "doppler/place/methods.h"

namespace doppler::place {
namespace {

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

}  // namespace

std::unique_ptr<Placer> make_random() {
  return std::make_unique<Random>();
}

}  // namespace doppler::place
