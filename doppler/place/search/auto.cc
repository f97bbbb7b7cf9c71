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

// Above this many node-device pairs only the fastest list schedulers are worth their time: search
// then needs all of it.
constexpr std::size_t kLargeProblem = 2'000'000;

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
                .note = "proved by branch and bound"};
      }
    }

    const bool large = problem.node_count() * problem.device_count() > kLargeProblem;
    using Maker = std::unique_ptr<Placer> (*)();
    static constexpr std::array<Maker, 2> kListSchedulers = {make_critical_path, make_heft};
    static constexpr std::array<Maker, 5> kOthers = {make_peft, make_metis, make_enumerative,
                                                     make_single, make_round_robin};
    for (const Maker maker : kListSchedulers) try_method(*maker(), request);
    if (!large) {
      for (const Maker maker : kOthers) try_method(*maker(), request);
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
