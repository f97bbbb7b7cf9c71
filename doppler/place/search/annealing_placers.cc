// `lns`: annealing over large neighbourhoods that follow the critical chain, devices and priorities
// together. `anneal`: the same annealing with textbook moves of devices only. Both start from the
// best list schedule. See annealing.h and neighborhood.h.
#include "doppler/place/methods.h"
#include "doppler/place/search/annealing.h"

namespace doppler::place {
namespace {

class AnnealingPlacer : public Placer {
 public:
  explicit AnnealingPlacer(AnnealingOptions options) : options_(options) {}
  bool uses_budget() const override { return true; }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    PlaceResult list_schedule = make_critical_path()->place(problem, request);
    AnnealingOptions options = options_;
    options.evaluations_before = list_schedule.evaluations;
    AnnealingResult found = anneal(problem, request, schedule::best_bound(problem),
                                   {std::move(list_schedule.placement)}, options);
    return {.placement = std::move(found.placement),
            .evaluations = found.evaluations,
            .note = found.met_bound ? "stopped at the bound" : ""};
  }

 private:
  AnnealingOptions options_;
};

class Lns final : public AnnealingPlacer {
 public:
  Lns() : AnnealingPlacer({.style = Neighborhood::Style::kGuided}) {}
  std::string_view name() const override { return "lns"; }
  std::string_view summary() const override {
    return "large-neighbourhood search along the critical chain, devices and priorities";
  }
};

class Anneal final : public AnnealingPlacer {
 public:
  Anneal() : AnnealingPlacer({.style = Neighborhood::Style::kPlain}) {}
  std::string_view name() const override { return "anneal"; }
  std::string_view summary() const override {
    return "plain simulated annealing of the devices, a fair reference";
  }
};

}  // namespace

std::unique_ptr<Placer> make_lns() {
  return std::make_unique<Lns>();
}
std::unique_ptr<Placer> make_anneal() {
  return std::make_unique<Anneal>();
}

}  // namespace doppler::place
