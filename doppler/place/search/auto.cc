// `auto`: the cheap methods, then search from the best of them, inside the budget. Tiny graphs are
// handed to `exact` first, which may prove its answer.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "doppler/place/registry.h"
#include "doppler/place/search/annealing.h"

namespace doppler::place {
namespace {

// Graphs up to this size are tried exactly, for this many steps (a second or so).
constexpr std::size_t kExactNodes = 12;
constexpr std::uint64_t kExactSteps = 200'000;

// What learned methods take grows with nodes times devices; beyond this (a second or so) the search
// makes more of the time.
constexpr std::size_t kMostForStartMethods = 1'000'000;

class Auto final : public Placer {
 public:
  explicit Auto(std::vector<std::shared_ptr<const Placer>> start_methods)
      : one_pass_{make_single(),        make_round_robin(), make_heft(), make_enumerative(),
                  make_critical_path(), make_metis(),       make_peft()},
        start_methods_(std::move(start_methods)) {}

  std::string_view name() const override { return "auto"; }
  std::string_view summary() const override {
    return "many methods, then search from the best of them";
  }
  bool uses_budget() const override { return true; }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    Starts starts(problem, request);
    const bool nominal = request.objective == schedule::Objective::kNominal;
    if (nominal && problem.node_count() <= kExactNodes) {
      PlaceRequest limited = request;
      limited.progress = nullptr;
      limited.stop = request.stop.without_deadline();  // the steps are few
      limited.max_evaluations = request.max_evaluations == 0
                                    ? kExactSteps
                                    : std::min(kExactSteps, request.max_evaluations);
      if (starts.add(*make_exact(), limited)) {
        return {.placement = starts.first(),
                .evaluations = starts.evaluations(),
                .proved_optimal = true,
                .prover = "exact",
                .note = "proved by branch and bound"};
      }
    }

    starts.add_all(one_pass_);
    if (problem.node_count() * problem.device_count() <= kMostForStartMethods)
      starts.add_all(start_methods_);
    return starts.search({});
  }

 private:
  std::vector<std::shared_ptr<const Placer>> one_pass_, start_methods_;
};

}  // namespace

std::unique_ptr<Placer> make_auto(std::vector<std::shared_ptr<const Placer>> start_methods) {
  return std::make_unique<Auto>(std::move(start_methods));
}

}  // namespace doppler::place
