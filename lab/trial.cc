#include "lab/trial.h"

#include <time.h>

#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/base/stop.h"
#include "doppler/exec/execute.h"
#include "doppler/sim/simulator.h"
#include "doppler/train/placers/policy_placer.h"
#include "lab/hidden_machine.h"

namespace doppler::lab {
namespace {

// Runs that judge a placement are not those that it was learnt from.
constexpr std::uint64_t kJudgeStream = 0x6a75646765;

// Of fine-tuning, as in train/policy_placer.cc: what the policy knows is kept.
constexpr train::Rates kFinetuneRates{2e-3, 2e-4};

std::uint64_t evaluations_of(const Scale& scale, const std::string& method) {
  if (method == "placeto") return scale.placeto_episodes;
  if (method == "gdp") return scale.gdp_episodes;
  return scale.search_evaluations;
}

}  // namespace

double thread_seconds() {
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) {
    throw SystemError("the system does not tell how much CPU time a thread has used");
  }
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

schedule::Placement place_by(const Lab& lab, const std::shared_ptr<const cost::Problem>& problem,
                             const std::string& method, std::uint64_t seed) {
  if (method == kDopplerSim || method == kDopplerSys) {
    Trained trained = train_on(lab, problem, plan_of(lab.scale(), seed));
    if (method == kDopplerSim) return std::move(trained.placement);
    const auto points = lab.online()({.problem = problem,
                                      .truth = hidden_truth(*problem, seed),
                                      .policy = std::move(trained.policy),
                                      .first = trained.placement,
                                      .runs = lab.scale().online_runs,
                                      .seed = seed,
                                      .interrupt = lab.interrupt()});
    return points.empty() ? trained.placement : points.back().placement;
  }
  return lab.methods()
      .find(method)
      .place(*problem, {.seed = seed,
                        .max_evaluations = evaluations_of(lab.scale(), method),
                        .stop = StopToken(lab.interrupt())})
      .placement;
}

train::TrainingPlan plan_of(const Scale& scale, std::uint64_t seed) {
  return {.imitation_episodes = scale.imitation_episodes, .episodes = scale.episodes, .seed = seed};
}

train::TrainingPlan finetuning_of(const Scale& scale, std::uint64_t seed) {
  train::TrainingPlan plan{.episodes = scale.finetune_episodes, .seed = seed};
  plan.rates = kFinetuneRates;
  return plan;
}

Trained train_on(const Lab& lab, const std::shared_ptr<const cost::Problem>& problem,
                 const train::TrainingPlan& plan, std::vector<float> start,
                 const std::function<void(const train::Training&)>& watch) {
  const double began = thread_seconds();
  train::Training training(plan, {problem}, lab.methods(), std::move(start));
  if (watch) watch(training);
  while (!training.done() && !lab.interrupted()) {
    training.update();
    if (watch) watch(training);
  }
  Trained trained{.policy = training.policy(), .seconds = thread_seconds() - began};
  trained.placement =
      place_with(lab, *problem, std::make_shared<const policy::Policy>(trained.policy),
                 kBestOfSamples, plan.seed);
  trained.makespan = simulated(*problem, trained.placement);
  if (training.task(0).best_time() < trained.makespan) {
    trained.placement = training.task(0).placement();
    trained.makespan = training.task(0).best_time();
  }
  return trained;
}

schedule::Placement place_with(const Lab& lab, const cost::Problem& problem,
                               std::shared_ptr<const policy::Policy> policy, std::size_t samples,
                               std::uint64_t seed) {
  const auto placer =
      train::make_policy_placer([&] { return train::Policies{policy}; }, {.samples = samples});
  return placer->place(problem, {.seed = seed, .stop = StopToken(lab.interrupt())}).placement;
}

double simulated(const cost::Problem& problem, const schedule::Placement& placement) {
  return sim::Simulator(problem).makespan(placement, cost::kInfinity);
}

exec::Deviation hidden_truth(const cost::Problem& problem, std::uint64_t seed) {
  return hidden_deviation(problem, {}, seed);
}

double engine_time(const Lab& lab, const std::shared_ptr<const cost::Problem>& problem,
                   const schedule::Placement& placement, const exec::Deviation& truth,
                   std::uint64_t seed) {
  return exec::execute(problem, placement,
                       {.backend = std::string(exec::kEmulatedBackend),
                        .clock = exec::EngineClock::kVirtual,
                        .runs = lab.scale().engine_runs,
                        .computes = false,
                        .deviation = truth,
                        .seed = mix64(seed ^ kJudgeStream)})
      .median;
}

double kept_share(const graph::Graph& graph, const schedule::Placement& placement) {
  double kept = 0.0, total = 0.0;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    const NodeId producer = graph.producer(tensor);
    if (!producer.valid()) continue;
    const double bytes = graph.bytes(tensor).value_or(1.0);
    for (const NodeId reader : graph.consumers(tensor)) {
      total += bytes;
      if (placement.device[producer.index()] == placement.device[reader.index()]) kept += bytes;
    }
  }
  return total > 0.0 ? kept / total : 1.0;
}

}  // namespace doppler::lab
