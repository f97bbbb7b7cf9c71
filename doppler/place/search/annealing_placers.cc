// `lns`: annealing over large neighbourhoods that follow the critical chain, devices and priorities
// together, from list schedules and from `enumerative`, whose mapping of shards no series of small
// moves would find. `anneal`: the same annealing with textbook moves of devices only, from the best
// list schedule. See annealing.h and neighborhood.h.
#include <memory>
#include <utility>
#include <vector>

#include "doppler/place/methods.h"
#include "doppler/place/search/starts.h"

namespace doppler::place {
namespace {

class AnnealingPlacer : public Placer {
 public:
  AnnealingPlacer(Neighborhood::Style style, std::vector<std::shared_ptr<const Placer>> starts)
      : style_(style), starts_(std::move(starts)) {}
  bool uses_budget() const override { return true; }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    Starts starts(problem, request);
    starts.add_all(starts_);
    return starts.search({.style = style_});
  }

 private:
  Neighborhood::Style style_;
  std::vector<std::shared_ptr<const Placer>> starts_;
};

class Lns final : public AnnealingPlacer {
 public:
  Lns()
      : AnnealingPlacer(Neighborhood::Style::kGuided,
                        {make_heft(), make_enumerative(), make_critical_path()}) {}
  std::string_view name() const override { return "lns"; }
  std::string_view summary() const override {
    return "large-neighbourhood search along the critical chain, devices and priorities";
  }
};

class Anneal final : public AnnealingPlacer {
 public:
  Anneal() : AnnealingPlacer(Neighborhood::Style::kPlain, {make_critical_path()}) {}
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
