#include "doppler/train/placers/policy_placer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "doppler/place/feasible.h"
#include "doppler/policy/architecture.h"
#include "doppler/train/offline/learner.h"

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
    const Policies policies = source_();
    place::PlaceResult result;
    result.note = fmt::format("best of {} samples", settings_.samples);
    Closest best;
    bool known = false;
    const std::size_t asked = std::min(policies.size(), settings_.samples);
    for (std::size_t i = 0; i < asked; ++i) {
      // Those that come first have one more where they cannot be shared evenly.
      const std::size_t samples =
          settings_.samples / asked + (i < settings_.samples % asked ? 1 : 0);
      const std::string strange = sample(problem, request, *policies[i], samples,
                                         1.0 / static_cast<double>(asked), result, best);
      known |= strange.empty();
      if (result.warning.empty() && !strange.empty()) {
        result.warning =
            fmt::format("the policy was not trained on the like of this problem's {}", strange);
      }
    }
    if (known) result.warning.clear();
    result.placement = place::make_feasible(problem, std::move(best.placement), request.seed);
    return result;
  }

 private:
  // The best so far, or what came closest to fitting.
  struct Closest {
    double time = cost::kInfinity, excess_bytes = cost::kInfinity;
    schedule::Placement placement;
  };

  // One policy's part, with its share of the time. What of the problem is strange to it.
  std::string sample(const cost::Problem& problem, const place::PlaceRequest& request,
                     const policy::Policy& policy, std::size_t samples, double share,
                     place::PlaceResult& result, Closest& best) const {
    using Clock = std::chrono::steady_clock;
    const auto model = policy::make_model(policy.architecture, policy.shape);
    // The caller's problem outlives this call.
    const std::shared_ptr<const cost::Problem> shared(std::shared_ptr<void>(), &problem);
    Task task(shared, *model, request.objective, policy.priorities);
    Learner learner(*model, {.threads = request.threads}, policy.parameters);
    const auto end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(share * settings_.finetune_seconds));
    for (std::uint64_t update = 1;
         settings_.finetune_seconds > 0.0 && Clock::now() < end && !request.stop.interrupted();
         ++update) {
      learner.reinforce(task, mix64(request.seed ^ mix64(update)), kFinetuneRate);
      result.evaluations += LearnerSettings{}.batch;
    }
    learner.sample(task, samples, request.seed);
    result.evaluations += samples;
    if (task.best_time() < best.time ||
        (!std::isfinite(best.time) && task.least_excess_bytes() < best.excess_bytes)) {
      best = {task.best_time(), task.least_excess_bytes(), task.placement()};
    }
    return policy.domain.stranger(task.nodes());
  }

  PolicySource source_;
  PolicyPlacerSettings settings_;
};

}  // namespace

std::unique_ptr<place::Placer> make_policy_placer(PolicySource policies,
                                                  PolicyPlacerSettings settings) {
  return std::make_unique<PolicyPlacer>(std::move(policies), settings);
}

}  // namespace doppler::train
