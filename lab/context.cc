#include "lab/context.h"

#include <fmt/format.h>

#include <time.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/hash.h"
#include "doppler/base/rng.h"
#include "doppler/base/stop.h"
#include "doppler/compile/plan_search.h"
#include "doppler/device/spec.h"
#include "doppler/exec/execute.h"
#include "doppler/formats/formats.h"
#include "doppler/kernel/registry.h"
#include "doppler/sim/simulator.h"
#include "doppler/tra/computation.h"
#include "doppler/tra/language/program_text.h"
#include "doppler/train/online/online_learner.h"
#include "doppler/train/placers/policy_placer.h"
#include "lab/online_learning.h"

namespace doppler::lab {

Scale Scale::full() {
  return {.name = "full"};
}

Scale Scale::quick() {
  return {.name = "quick",
          .seeds = 3,
          .imitation_episodes = 480,
          .episodes = 2400,
          .finetune_episodes = 480,
          .published_imitation = 60,
          .published_short = 120,
          .published_long = 120,
          .placeto_episodes = 160,
          .placeto_compared_episodes = 160,
          .gdp_episodes = 960,
          .message_episodes = 96,
          .message_graphs = {"chainmm", "ffnn"},
          .online_runs = 400,
          .search_evaluations = 3000,
          .engine_runs = 10,
          .growth_nodes = {100, 200, 500, 1000, 2000},
          .placements = 10,
          .rounds = 3,
          .core_graphs = {"chainmm", "ffnn"}};
}

Scale Scale::tiny() {
  return {.name = "tiny",
          .seeds = 2,
          .graphs = {"chainmm", "ffnn"},
          .imitation_episodes = 32,
          .episodes = 64,
          .finetune_episodes = 32,
          .published_imitation = 3,
          .published_short = 6,
          .published_long = 6,
          .placeto_episodes = 4,
          .placeto_compared_episodes = 4,
          .gdp_episodes = 32,
          .message_episodes = 16,
          .message_graphs = {"chainmm"},
          .online_runs = 20,
          .search_evaluations = 100,
          .engine_runs = 2,
          .growth_nodes = {40, 80, 160},
          .placements = 4,
          .rounds = 2,
          .core_graphs = {"chainmm"},
          .pictured = {"chainmm"}};
}

std::uint64_t Scale::hash() const {
  Hasher hasher;
  hasher.add_bytes(name);
  for (const std::uint64_t number :
       {static_cast<std::uint64_t>(seeds), imitation_episodes, episodes, finetune_episodes,
        published_imitation, published_short, published_long, placeto_episodes,
        placeto_compared_episodes, gdp_episodes, message_episodes, online_runs, search_evaluations,
        static_cast<std::uint64_t>(engine_runs), static_cast<std::uint64_t>(placements),
        static_cast<std::uint64_t>(rounds)}) {
    hasher.add(number);
  }
  for (const auto* names : {&graphs, &message_graphs, &core_graphs, &pictured}) {
    hasher.add(static_cast<std::uint64_t>(names->size()));
    for (const std::string& graph : *names) hasher.add_bytes(graph);
  }
  for (const int nodes : growth_nodes) hasher.add(nodes);
  return hasher.value();
}

std::uint64_t placeto_episodes_for(std::size_t nodes, std::uint64_t per_hundred) {
  const double share = 100.0 / static_cast<double>(std::max<std::size_t>(nodes, 1));
  const double scaled = std::ceil(share * share * static_cast<double>(per_hundred));
  constexpr std::uint64_t kTenUpdates = 160;  // so that something is learnt
  return std::max(static_cast<std::uint64_t>(scaled), std::min(kTenUpdates, per_hundred));
}

namespace {

using Sizes = std::map<std::string, std::int64_t>;

// The workloads in the sizes of the paper, split about as finely as the published graphs
// (docs/paper.md); for eight devices into about as many kernels as the published forms for eight.
struct Workload {
  Sizes sizes;
  tra::Parts parts_of_four, parts_of_eight;
};

Workload workload_named(const std::string& graph) {
  if (graph == "chainmm") {
    const tra::Parts parts{{"i", 4}, {"j", 2}, {"k", 2}, {"l", 2}, {"m", 4}};
    return {{{"size", 10'000}}, parts, parts};
  }
  if (graph == "ffnn") {
    const tra::Parts parts{{"batch", 8}, {"hidden", 4}};
    return {{}, parts, parts};
  }
  tra::Parts four{{"seq", 4}, {"heads", 2}, {"ffn", 2}},
      eight{{"seq", 4}, {"heads", 4}, {"ffn", 4}};
  if (graph == "llama-layer") {
    four.emplace("vocab", 2);
    eight.emplace("vocab", 4);
  }
  return {{{"seq", 4096}}, four, eight};
}

bool is_small(const Scale& scale) {
  return scale.name == Scale::tiny().name;
}

// Returns small workloads for tests, of a few dozen kernels.
Workload small_workload(const std::string& graph) {
  if (graph == "chainmm") {
    const tra::Parts parts{{"i", 2}, {"j", 2}, {"k", 2}, {"l", 1}, {"m", 2}};
    return {{{"size", 2000}}, parts, parts};
  }
  const tra::Parts parts{{"batch", 2}, {"hidden", 2}};
  return {{{"batch", 256}}, parts, parts};
}

std::shared_ptr<const device::Topology> topology_of(const std::string& devices) {
  return std::make_shared<const device::Topology>(device::topology_from_spec(devices));
}

tra::Computation computation_of(const std::string& graph, const Sizes& sizes) {
  std::vector<std::string> ignored;
  return tra::forward(tra::workload(graph, sizes, ignored));
}

// Returns the costs of all published comparisons so far.
cost::ProblemOptions first_costs() {
  return {.costs = cost::CostSource::kRoofline};
}

std::shared_ptr<const cost::Problem> generated(const std::string& graph, const Sizes& sizes,
                                               const tra::Parts& parts,
                                               const std::string& devices) {
  const auto topology = topology_of(devices);
  const cost::ProblemOptions options = first_costs();
  compile::FoundPlan found =
      compile::given_plan(computation_of(graph, sizes), tra::machine_of(*topology, options), parts,
                          kernel::default_kernels());
  return std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(found.lowered.graph)), topology, options);
}

std::string file_of(const std::string& folder, std::string graph) {
  std::replace(graph.begin(), graph.end(), '-', '_');
  return folder + "/" + graph + ".txt";
}

}  // namespace

ReproductionContext::ReproductionContext(Scale scale, const place::Registry& methods,
                                         const std::string& graphs_folder, OnlineLearning online,
                                         StopToken stop)
    : scale_(std::move(scale)),
      methods_(methods),
      online_(std::move(online)),
      stop_(stop),
      machines_{kFourDevices, kEightDevices} {
  for (const std::string& graph : scale_.graphs) {
    const Workload workload = is_small(scale_) ? small_workload(graph) : workload_named(graph);
    for (const auto& [machine, parts] : {std::pair(kFourDevices, workload.parts_of_four),
                                         std::pair(kEightDevices, workload.parts_of_eight)}) {
      problems_[{machine, graph}] = generated(graph, workload.sizes, parts, machine);
    }
  }
  if (graphs_folder.empty()) return;
  machines_.push_back(kGivenTimes);
  for (const std::string& graph : scale_.graphs) {
    auto loaded =
        std::make_shared<const graph::Graph>(formats::load_graph(file_of(graphs_folder, graph)));
    problems_[{kGivenTimes, graph}] =
        std::make_shared<const cost::Problem>(std::move(loaded), topology_of(kGivenTimes));
  }
}

const std::shared_ptr<const cost::Problem>& ReproductionContext::problem(
    const std::string& machine, const std::string& graph) const {
  const auto found = problems_.find({machine, graph});
  DOPPLER_CHECK(found != problems_.end());
  return found->second;
}

std::uint64_t ReproductionContext::hash() const {
  Hasher hasher;
  hasher.add(scale_.hash());
  hasher.add(static_cast<bool>(online_));
  hasher.add(train::OnlineSettings{}.hash());
  for (const auto& policy : train::shipped_policies()) {
    hasher.add_span(std::span<const float>(policy->parameters));
  }
  for (const auto& [names, problem] : problems_) hasher.add(problem->hash());
  for (const train::TrainingPlan& plan : {plan_of(scale_, 1), finetuning_of(scale_, 1),
                                          published_plan_of(scale_, scale_.published_long, 1)}) {
    hasher.add(plan.hash());
  }
  for (const auto baseline : {policy::Architecture::kGdp, policy::Architecture::kPlaceto}) {
    const train::Rates rates = train::rates_for(baseline);
    for (const double number : {rates.first, rates.last, train::entropy_for(baseline)}) {
      hasher.add(number);
    }
  }
  return hasher.value();
}

std::shared_ptr<const cost::Problem> problem_for_cores(const ReproductionContext& context,
                                                       const std::string& graph,
                                                       const std::string& devices) {
  // The sizes of bench/quality/fidelity.py, split into eight parts so that there is something to
  // place.
  Sizes sizes{{"seq", 384}, {"hidden", 768}, {"heads", 8}, {"ffn", 2048}, {"vocab", 4000}};
  if (graph == "chainmm") sizes = {{"size", is_small(context.scale()) ? 128 : 1024}};
  if (graph == "ffnn") {
    sizes = {{"batch", 512}, {"input", 768}, {"hidden", 1536}, {"output-size", 768}};
  }
  const auto eight = topology_of("8xA100");
  compile::FoundPlan found = compile::find_plan(computation_of(graph, sizes), eight,
                                                kernel::default_kernels(), first_costs());
  return std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(std::move(found.lowered.graph)), topology_of(devices),
      first_costs());
}

namespace {

// Makes the seeds of runs that judge a placement differ from those that it was learnt from.
constexpr std::uint64_t kJudgeStream = 0x6a75646765;

// The learning rates of fine-tuning, as in the policy placer: small, so that the policy keeps what
// it knows.
constexpr train::Rates kFinetuneRates{2e-3, 2e-4};

std::uint64_t evaluations_of(const Scale& scale, const std::string& method, std::size_t nodes) {
  if (method == "placeto") return placeto_episodes_for(nodes, scale.placeto_compared_episodes);
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

schedule::Placement place_by(const ReproductionContext& context,
                             const std::shared_ptr<const cost::Problem>& problem,
                             const std::string& method, std::uint64_t seed) {
  if (method == kDopplerSim || method == kDopplerSys) {
    Trained trained = train_on(context, problem, plan_of(context.scale(), seed));
    if (method == kDopplerSim) return std::move(trained.placement);
    const auto points = context.online()({.problem = problem,
                                          .truth = hidden_truth(*problem, seed),
                                          .policy = std::move(trained.policy),
                                          .first = trained.placement,
                                          .runs = context.scale().online_runs,
                                          .seed = seed,
                                          .stop = context.stop()});
    return points.empty() ? trained.placement : points.back().placement;
  }
  return context.methods()
      .find(method)
      .place(*problem,
             {.seed = seed,
              .max_evaluations = evaluations_of(context.scale(), method, problem->node_count()),
              .stop = context.stop()})
      .placement;
}

train::TrainingPlan plan_of(const Scale& scale, std::uint64_t seed) {
  return {.imitation_episodes = scale.imitation_episodes, .episodes = scale.episodes, .seed = seed};
}

train::TrainingPlan published_plan_of(const Scale& scale, std::uint64_t episodes,
                                      std::uint64_t seed) {
  train::TrainingPlan plan = train::TrainingPlan::of_paper();
  plan.imitation_episodes = scale.published_imitation;
  plan.episodes = episodes - scale.published_imitation;
  plan.seed = seed;
  return plan;
}

train::TrainingPlan finetuning_of(const Scale& scale, std::uint64_t seed) {
  train::TrainingPlan plan{.episodes = scale.finetune_episodes, .seed = seed};
  plan.rates = kFinetuneRates;
  return plan;
}

Trained train_on(const ReproductionContext& context,
                 const std::shared_ptr<const cost::Problem>& problem,
                 const train::TrainingPlan& plan, std::vector<float> start,
                 const std::function<void(const train::Training&)>& watch) {
  const double began = thread_seconds();
  train::Training training(plan, {problem}, context.methods(), std::move(start));
  if (watch) watch(training);
  while (!training.done() && !context.stop().stop_requested()) {
    training.update();
    if (watch) watch(training);
  }
  Trained trained{.policy = training.policy(), .seconds = thread_seconds() - began};
  trained.placement =
      place_with(context, *problem, std::make_shared<const policy::Policy>(trained.policy),
                 kBestOfSamples, plan.seed);
  trained.makespan = simulated(*problem, trained.placement);
  if (training.task(0).best_time() < trained.makespan) {
    trained.placement = training.task(0).placement();
    trained.makespan = training.task(0).best_time();
  }
  return trained;
}

schedule::Placement place_with(const ReproductionContext& context, const cost::Problem& problem,
                               std::shared_ptr<const policy::Policy> policy, std::size_t samples,
                               std::uint64_t seed) {
  const auto placer =
      train::make_policy_placer([&] { return train::Policies{policy}; }, {.samples = samples});
  return placer->place(problem, {.seed = seed, .stop = context.stop()}).placement;
}

double simulated(const cost::Problem& problem, const schedule::Placement& placement) {
  return sim::Simulator(problem).makespan(placement, cost::kInfinity);
}

exec::MachineSkew hidden_truth(const cost::Problem& problem, std::uint64_t seed) {
  return draw_skew(problem, {}, seed);
}

double engine_time(const ReproductionContext& context,
                   const std::shared_ptr<const cost::Problem>& problem,
                   const schedule::Placement& placement, const exec::MachineSkew& truth,
                   std::uint64_t seed) {
  exec::ExecuteSettings settings{{.backend = std::string(exec::kEmulatedBackend),
                                  .clock = exec::EngineClock::kVirtual,
                                  .skew = truth,
                                  .seed = mix64(seed ^ kJudgeStream)}};
  settings.runs = context.scale().engine_runs;
  settings.computes = false;
  return exec::execute(problem, placement, settings).median;
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
