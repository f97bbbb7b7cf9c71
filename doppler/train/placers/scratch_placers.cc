#include "doppler/train/placers/scratch_placers.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "doppler/place/feasible.h"
#include "doppler/policy/architecture.h"
#include "doppler/schedule/bounds.h"
#include "doppler/train/offline/learner.h"

namespace doppler::train {
namespace {

// The same all along: where the end is on the clock nobody knows how far it is.
constexpr double kScratchRate = 2e-3;

class ScratchPlacer final : public place::Placer {
 public:
  ScratchPlacer(policy::Architecture architecture, std::string_view summary)
      : architecture_(architecture), summary_(summary) {}

  std::string_view name() const override { return policy::architecture_name(architecture_); }
  std::string_view summary() const override { return summary_; }
  bool uses_budget() const override { return true; }

  place::PlaceResult place(const cost::Problem& problem,
                           const place::PlaceRequest& request) const override {
    const auto began = std::chrono::steady_clock::now();
    const auto model = policy::make_model(architecture_, {.devices = problem.device_count()});
    // The caller's problem outlives this call.
    const std::shared_ptr<const cost::Problem> shared(std::shared_ptr<void>(), &problem);
    Task task(shared, *model, request.objective);
    const LearnerSettings settings{.threads = request.threads};
    Rng start = Rng::stream(request.seed, 0);
    Learner learner(*model, settings, model->parameters().random_values(start));
    const bool nominal = request.objective == schedule::Objective::kNominal;
    const schedule::Bound bound = schedule::best_bound(problem);
    const std::uint64_t runs = nominal ? 1 : place::Scorer::kSamples;  // of one episode
    std::uint64_t episodes = 0;
    // Whether the budget has room for so many more.
    const auto has_room = [&](std::uint64_t more) {
      return request.max_evaluations == 0 || (episodes + more) * runs <= request.max_evaluations;
    };
    const auto is_done = [&] {
      return problem.node_count() == 0 || request.stop.stop_requested() ||
             (nominal && schedule::meets(task.best_time(), bound));
    };
    const auto sample = [&](std::uint64_t count) {
      learner.sample(task, count, mix64(request.seed ^ mix64(episodes)));
      episodes += count;
    };
    sample(1);  // something to give, whatever happens
    while (!is_done() && has_room(settings.batch)) {
      learner.reinforce(task, mix64(request.seed ^ mix64(episodes)), kScratchRate);
      episodes += settings.batch;
      if (request.progress) {
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
        request.progress({seconds.count(), episodes * runs, task.best_time(), bound.value});
      }
    }
    if (request.max_evaluations != 0 && !is_done() && has_room(1)) {
      sample(request.max_evaluations / runs - episodes);
    }
    return {.placement = place::make_feasible(problem, task.placement(), request.seed),
            .evaluations = episodes * runs,
            .note = fmt::format("best of {} episodes", episodes)};
  }

 private:
  policy::Architecture architecture_;
  std::string_view summary_;
};

}  // namespace

std::vector<std::shared_ptr<const place::Placer>> make_scratch_placers() {
  return {std::make_shared<ScratchPlacer>(
              policy::Architecture::kPlaceto,
              "learns on the graph: node by node, messages passed anew at every step"),
          std::make_shared<ScratchPlacer>(
              policy::Architecture::kGdp,
              "learns on the graph: messages, then attention over all nodes at once")};
}

}  // namespace doppler::train
