// How much of everything a reproduction does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/exec/duration_model.h"
#include "doppler/place/registry.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/placement.h"
#include "doppler/train/offline/training.h"
#include "lab/online_learning.h"

namespace doppler::lab {

struct Scale {
  std::string name;
  int seeds = 5;
  std::vector<std::string> graphs = {"chainmm", "ffnn", "llama-block", "llama-layer"};
  // Episodes of the stages, and of fine-tuning after a transfer: those of the paper.
  std::uint64_t imitation_episodes = 2000, episodes = 8000, finetune_episodes = 2000;
  // Of the baselines that learn on the graph. Placeto passes messages anew at every step.
  std::uint64_t placeto_episodes = 320, gdp_episodes = 8000;
  // Of all variants where one of them passes messages anew at every step, and on which graphs.
  std::uint64_t message_episodes = 480;
  std::vector<std::string> message_graphs = graphs;
  std::uint64_t online_runs = 2000;           // of stage III
  std::uint64_t search_evaluations = 20'000;  // of searches
  int engine_runs = 20;                       // behind each time on an engine
  std::vector<int> growth_nodes = {100, 200, 500, 1000, 2000, 5000, 10'000};
  // Of fidelity: placements and rounds, and on which graphs with real cores.
  int placements = 30, rounds = 6;
  std::vector<std::string> core_graphs = graphs;
  std::vector<std::string> pictured = {"chainmm", "llama-block"};

  static Scale full();   // six hours on two cores
  static Scale quick();  // ten minutes
  static Scale tiny();   // seconds, for tests; small graphs

  // What decides results, for the file of settings.
  std::uint64_t hash() const;
};

// What experiments work with: graphs and machines, methods, and how much of everything. Immutable,
// so shared between threads.

// The paper's two machines, with roofline costs and links that are shared.
inline constexpr const char* kFourDevices = "4xP100";
inline constexpr const char* kEightDevices = "8xV100";
// For the published graph files, with times as given in them.
inline constexpr const char* kGivenTimes = "uniform:4";

class ReproductionContext {
 public:
  // `graphs_folder`: of the published graph files (chainmm.txt, llama_block.txt, …); empty: none.
  // `online` may be empty. `methods` must outlive this. Throws InputError for a folder without the
  // files.
  ReproductionContext(Scale scale, const place::Registry& methods, const std::string& graphs_folder,
                      OnlineLearning online, StopToken stop);

  const Scale& scale() const { return scale_; }
  const place::Registry& methods() const { return methods_; }
  const OnlineLearning& online() const { return online_; }
  const StopToken& stop() const { return stop_; }

  // Machines for which there are graphs, in the order of the pages.
  const std::vector<std::string>& machines() const { return machines_; }
  // A workload of the scale for one of the machines.
  const std::shared_ptr<const cost::Problem>& problem(const std::string& machine,
                                                      const std::string& graph) const;

  // Of all that decides results.
  std::uint64_t hash() const;

 private:
  Scale scale_;
  const place::Registry& methods_;
  OnlineLearning online_;
  StopToken stop_;
  std::vector<std::string> machines_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const cost::Problem>> problems_;
};

// A workload in small, for real cores: tens of milliseconds a run on two of them.
std::shared_ptr<const cost::Problem> problem_for_cores(const ReproductionContext& context,
                                                       const std::string& graph,
                                                       const std::string& devices);

// What experiments have in common: a placement by a method, a policy by a training, a time on an
// engine.

inline constexpr const char* kDopplerSim = "doppler-sim";
inline constexpr const char* kDopplerSys = "doppler-sys";

// Names of numbers in cells: the placement's time by the simulator, and on an engine.
inline constexpr const char* kSimulated = "simulated";
inline constexpr const char* kEngine = "engine";

// Placements that are sampled of a trained policy, of which the best counts.
inline constexpr std::size_t kBestOfSamples = 64;

// Seconds of CPU that the calling thread has used: what others do on the machine counts little.
double thread_seconds();

// A method by the name in the registry, or one of the two above, as the scale trains them.
schedule::Placement place_by(const ReproductionContext& context,
                             const std::shared_ptr<const cost::Problem>& problem,
                             const std::string& method, std::uint64_t seed);

struct Trained {
  policy::Policy policy = {};
  schedule::Placement placement =
      {};                 // the best that was seen, in training or among 64 samples after
  double makespan = 0.0;  // of it
  double seconds = 0.0;   // of CPU, in training
};

// Stages I and II as the scale has them.
train::TrainingPlan plan_of(const Scale& scale, std::uint64_t seed);
// The same after a transfer: fewer episodes, gentler, nothing imitated.
train::TrainingPlan finetuning_of(const Scale& scale, std::uint64_t seed);

// Trains on one problem to the end. `watch` is called before the first update and after each.
Trained train_on(const ReproductionContext& context,
                 const std::shared_ptr<const cost::Problem>& problem,
                 const train::TrainingPlan& plan, std::vector<float> start = {},
                 const std::function<void(const train::Training&)>& watch = {});

// The best of samples of a policy.
schedule::Placement place_with(const ReproductionContext& context, const cost::Problem& problem,
                               std::shared_ptr<const policy::Policy> policy, std::size_t samples,
                               std::uint64_t seed);

// Simulated with the problem's costs.
double simulated(const cost::Problem& problem, const schedule::Placement& placement);

// A machine that is not as the placer thinks (context/hidden_machine.h).
exec::MachineSkew hidden_truth(const cost::Problem& problem, std::uint64_t seed);
// Median of runs of the emulated engine on a virtual clock.
double engine_time(const ReproductionContext& context,
                   const std::shared_ptr<const cost::Problem>& problem,
                   const schedule::Placement& placement, const exec::MachineSkew& truth,
                   std::uint64_t seed);

// Of the bytes that nodes read from each other, the share that stays on a device.
double kept_share(const graph::Graph& graph, const schedule::Placement& placement);

}  // namespace doppler::lab
