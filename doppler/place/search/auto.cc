// `auto`: the cheap methods, then search from the best of them, inside the budget. Tiny graphs are
// handed to `exact` first, which may prove its answer.
#include <algorithm>
#include <array>

#include "doppler/place/methods.h"
#include "doppler/place/search/starts.h"

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

    static constexpr std::array<Starts::Maker, 7> kOnePass = {
        make_single,        make_round_robin, make_heft, make_enumerative,
        make_critical_path, make_metis,       make_peft};
    starts.add_all(kOnePass);
    return starts.search({});
  }
};

}  // namespace

std::unique_ptr<Placer> make_auto() {
  return std::make_unique<Auto>();
}

}  // namespace doppler::place
