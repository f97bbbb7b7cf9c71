#include "doppler/train/policy_placer.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "doppler/place/feasible.h"
#include "doppler/policy/architecture.h"
#include "doppler/train/learner.h"

namespace doppler::train {
namespace {

// Gentler than training from nothing: what the policy knows is kept.
constexpr double kFinetuneRate = 2e-3;

class PolicyPlacer final : public place::Placer {
 public:
  PolicyPlacer(std::shared_ptr<const policy::Policy> policy, PolicyPlacerSettings settings)
      : policy_(std::move(policy)),
        settings_(settings),
        model_(policy::make_model(policy_->architecture, policy_->shape)) {}

  std::string_view name() const override { return "policy"; }
  std::string_view summary() const override {
    return "the learned policies: the best of 64 samples";
  }

  place::PlaceResult place(const cost::Problem& problem,
                           const place::PlaceRequest& request) const override {
    using Clock = std::chrono::steady_clock;
    // The caller's problem outlives this call.
    const std::shared_ptr<const cost::Problem> shared(std::shared_ptr<void>(), &problem);
    Task task(shared, *model_, request.objective, policy_->priorities);
    Learner learner(*model_, {.threads = request.threads}, policy_->parameters);
    std::uint64_t played = 0;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(settings_.finetune_seconds));
    for (std::uint64_t update = 1;
         settings_.finetune_seconds > 0.0 && Clock::now() < end && !request.stop.interrupted();
         ++update) {
      learner.reinforce(task, mix64(request.seed ^ mix64(update)), kFinetuneRate);
      played += LearnerSettings{}.batch;
    }
    learner.sample(task, settings_.samples, request.seed);
    played += settings_.samples;
    const policy::Episode& episode = task.best();
    // Where no sample fits the last one is as good as any to repair.
    schedule::Placement placement =
        task.placement_of(std::isfinite(task.best_time()) ? episode : learner.last_episode());
    place::PlaceResult result{
        .placement = place::make_feasible(problem, std::move(placement), request.seed),
        .evaluations = played,
        .note = fmt::format("best of {} samples", settings_.samples)};
    if (const std::string strange = policy_->domain.stranger(task.nodes()); !strange.empty()) {
      result.note +=
          fmt::format("; the policy was not trained on the like of this problem's {}", strange);
    }
    return result;
  }

 private:
  std::shared_ptr<const policy::Policy> policy_;
  PolicyPlacerSettings settings_;
  std::unique_ptr<const policy::Model> model_;
};

}  // namespace

std::unique_ptr<place::Placer> make_policy_placer(std::shared_ptr<const policy::Policy> policy,
                                                  PolicyPlacerSettings settings) {
  return std::make_unique<PolicyPlacer>(std::move(policy), settings);
}

}  // namespace doppler::train
