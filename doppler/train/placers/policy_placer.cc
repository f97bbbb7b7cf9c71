#include "doppler/train/placers/policy_placer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "doppler/base/stop.h"
#include "doppler/place/feasible.h"
#include "doppler/policy/features/node_features.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/bounds.h"
#include "doppler/train/offline/learner.h"
#include "doppler/train/offline/training.h"

namespace doppler::train {
namespace {

#include "doppler/train/shipped_policies.inc"

std::shared_ptr<const policy::Policy> read(std::string_view text) {
  return std::make_shared<const policy::Policy>(
      policy::read_policy_json("a policy that ships with doppler", text));
}

// Gentler than training from nothing: what the policy knows is kept.
constexpr double kFinetuneRate = 2e-3;

class PolicyPlacer final : public place::Placer {
 public:
  PolicyPlacer(PolicySource source, PolicyPlacerSettings settings)
      : source_(std::move(source)),
        settings_(settings),
        summary_(fmt::format("the learned policies: the best of {} samples", settings.samples)) {}

  std::string_view name() const override { return "policy"; }
  std::string_view summary() const override { return summary_; }

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
    learner.sample(task, samples, request.seed, request.stop);
    result.evaluations += samples;
    if (task.best_time() < best.time ||
        (!std::isfinite(best.time) && task.least_excess_bytes() < best.excess_bytes)) {
      best = {task.best_time(), task.least_excess_bytes(), task.placement()};
    }
    return policy.domain.unfamiliar_traits(task.nodes());
  }

  PolicySource source_;
  PolicyPlacerSettings settings_;
  std::string summary_;
};

// The learning rate is the same all along, since a budget of time does not tell how far its end is:
// this share of the rate that a training begins with.
constexpr double kScratchRateShare = 0.5;

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
    const LearnerSettings settings{.entropy = entropy_for(architecture_),
                                   .threads = request.threads};
    Rng start = Rng::stream(request.seed, 0);
    Learner learner(*model, settings, model->parameters().random_values(start));
    const bool nominal = request.objective == schedule::Objective::kNominal;
    const schedule::Bound bound = schedule::best_bound(problem);
    const std::uint64_t runs = nominal ? 1 : place::Scorer::kSamples;  // of one episode
    const double rate = kScratchRateShare * rates_for(architecture_).first;
    std::uint64_t episodes = 0;
    // Returns whether the budget has room for so many more episodes.
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
      learner.reinforce(task, mix64(request.seed ^ mix64(episodes)), rate);
      episodes += settings.batch;
      if (request.progress) {
        request.progress({seconds_since(began), episodes * runs, task.best_time(), bound.value});
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

std::unique_ptr<place::Placer> make_policy_placer(PolicySource policies,
                                                  PolicyPlacerSettings settings) {
  return std::make_unique<PolicyPlacer>(std::move(policies), settings);
}

std::vector<std::shared_ptr<const policy::Policy>> shipped_policies() {
  std::vector<std::shared_ptr<const policy::Policy>> policies;
  for (const char* text : kShippedPolicies) policies.push_back(read(text));
  return policies;
}

std::shared_ptr<const policy::Policy> shipped_policy() {
  return read(kShippedPolicies[0]);
}

std::vector<std::shared_ptr<const place::Placer>> make_scratch_placers() {
  return {std::make_shared<ScratchPlacer>(
              policy::Architecture::kPlaceto,
              "learns on the graph: node by node, messages passed anew at every step"),
          std::make_shared<ScratchPlacer>(
              policy::Architecture::kGdp,
              "learns on the graph: messages, then attention over all nodes at once")};
}

}  // namespace doppler::train
