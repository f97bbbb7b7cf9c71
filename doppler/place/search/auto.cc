// `auto`: the cheap methods, then search from the best of them, inside the budget. Tiny graphs are
// handed to `exact` first, which may prove its answer.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/place/methods.h"
#include "doppler/place/search/annealing.h"
#include "doppler/schedule/bounds.h"

namespace doppler::place {
namespace {

// Graphs up to this size are tried exactly, for this many steps (a second or so).
constexpr std::size_t kExactNodes = 12;
constexpr std::uint64_t kExactSteps = 200'000;

class Auto final : public Placer {
 public:
  std::string_view name() const override { return "auto"; }
  std::string_view summary() const override {
    return "the cheap methods, then search from the best of them";
  }
  bool uses_budget() const override { return true; }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    std::vector<schedule::Placement> starts;
    std::uint64_t evaluations = 0;
    std::string refusal;
    const auto try_method = [&](const Placer& placer, const PlaceRequest& its_request) {
      try {
        PlaceResult result = placer.place(problem, its_request);
        evaluations += result.evaluations;
        starts.push_back(std::move(result.placement));
        return result.proved_optimal;
      } catch (const InfeasibleError& error) {  // another method may still find room
        if (refusal.empty()) refusal = error.what();
        return false;
      }
    };

    const bool nominal = request.objective == schedule::Objective::kNominal;
    if (nominal && problem.node_count() <= kExactNodes) {
      PlaceRequest limited = request;
      limited.progress = nullptr;
      limited.max_evaluations = request.max_evaluations == 0
                                    ? kExactSteps
                                    : std::min(kExactSteps, request.max_evaluations);
      if (try_method(*make_exact(), limited)) {
        return {.placement = std::move(starts.front()),
                .evaluations = evaluations,
                .proved_optimal = true,
                .prover = "exact",
                .note = "proved by branch and bound"};
      }
    }

    using Maker = std::unique_ptr<Placer> (*)();
    static constexpr std::array<Maker, 7> kOnePass = {
        make_critical_path, make_heft,  make_enumerative, make_round_robin,
        make_peft,          make_metis, make_single};
    for (const Maker maker : kOnePass) {
      const bool spent = request.stop.stop_requested() ||
                         (request.max_evaluations > 0 && evaluations >= request.max_evaluations);
      if (spent && !starts.empty()) break;
      try_method(*maker(), request);
    }
    if (starts.empty()) throw InfeasibleError(refusal);

    AnnealingResult found = anneal(problem, request, schedule::best_bound(problem), starts,
                                   {.evaluations_before = evaluations});
    return {.placement = std::move(found.placement),
            .evaluations = found.evaluations,
            .note = found.met_bound ? "stopped at the bound" : ""};
  }
};

}  // namespace

std::unique_ptr<Placer> make_auto() {
  return std::make_unique<Auto>();
}

}  // namespace doppler::place
