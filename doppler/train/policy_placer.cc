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
  PolicyPlacer(PolicySource source, PolicyPlacerSettings settings)
      : source_(std::move(source)), settings_(settings) {}

  std::string_view name() const override { return "policy"; }
  std::string_view summary() const override {
    return "the learned policies: the best of 64 samples";
  }

  place::PlaceResult place(const cost::Problem& problem,
                           const place::PlaceRequest& request) const override {
    using Clock = std::chrono::steady_clock;
    const std::shared_ptr<const policy::Policy> policy = source_();
    const auto model = policy::make_model(policy->architecture, policy->shape);
    // The caller's problem outlives this call.
    const std::shared_ptr<const cost::Problem> shared(std::shared_ptr<void>(), &problem);
    Task task(shared, *model, request.objective, policy->priorities);
    Learner learner(*model, {.threads = request.threads}, policy->parameters);
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
    place::PlaceResult result{
        .placement = place::make_feasible(problem, task.placement(), request.seed),
        .evaluations = played,
        .note = fmt::format("best of {} samples", settings_.samples)};
    if (const std::string strange = policy->domain.stranger(task.nodes()); !strange.empty()) {
      result.warning =
          fmt::format("the policy was not trained on the like of this problem's {}", strange);
    }
    return result;
  }

 private:
  PolicySource source_;
  PolicyPlacerSettings settings_;
};

}  // namespace

std::unique_ptr<place::Placer> make_policy_placer(PolicySource policy,
                                                  PolicyPlacerSettings settings) {
  return std::make_unique<PolicyPlacer>(std::move(policy), settings);
}

}  // namespace doppler::train
