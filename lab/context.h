// The context of a reproduction: its scale, the graphs and machines that experiments work with, and
// the steps that experiments have in common (a placement by a method, a policy by training, a time
// on an engine). A context is immutable, so threads share it freely; the functions are safe to call
// from several threads.
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

// Holds the size of a reproduction: its seeds and graphs, and its numbers of episodes and runs.
struct Scale {
  std::string name;
  int seeds = 5;
  std::vector<std::string> graphs = {"chainmm", "ffnn", "llama-block", "llama-layer"};
  // Episodes of stages I and II, and of fine-tuning after a transfer; the defaults are the paper's.
  std::uint64_t imitation_episodes = 2000, episodes = 8000, finetune_episodes = 2000;
  // Episodes of DOPPLER as published: stage I, and all in all on ChainMM and FFNN and on the Llama
  // graphs. The defaults are the paper's.
  std::uint64_t published_imitation = 2000, published_short = 4000, published_long = 8000;
  // Episodes of the baselines that learn on the graph. Those of Placeto, which passes messages at
  // every step, take time with the square of the nodes: these are for 100 nodes, and every graph
  // gets the same time. They are fewer where all methods are compared on all machines, so that
  // Placeto takes there no more than ten times as long as the others.
  std::uint64_t placeto_episodes = 9200, placeto_compared_episodes = 1200, gdp_episodes = 16'000;
  // Episodes of all variants in the experiment on message passing, of which one passes messages at
  // every step; and its graphs.
  std::uint64_t message_episodes = 480;
  std::vector<std::string> message_graphs = graphs;
  std::uint64_t online_runs = 2000;           // runs of the engine in stage III
  std::uint64_t search_evaluations = 20'000;  // evaluations of each search
  int engine_runs = 20;                       // runs for each time on an engine
  std::vector<int> growth_nodes = {100, 200, 500, 1000, 2000, 5000, 10'000};
  // The experiment on fidelity: its placements and rounds, and its graphs on real cores.
  int placements = 30, rounds = 6;
  std::vector<std::string> core_graphs = graphs;
  std::vector<std::string> pictured = {"chainmm", "llama-block"};

  static Scale full();   // takes many hours on two cores
  static Scale quick();  // takes ten minutes
  static Scale tiny();   // takes seconds; small graphs, for tests

  // Returns a hash of everything here that decides results.
  std::uint64_t hash() const;
};

// Returns the episodes of Placeto on a graph with so many nodes that take as long as `per_hundred`
// of them on 100 nodes. They are at least ten updates, or `per_hundred` if that is less.
std::uint64_t placeto_episodes_for(std::size_t nodes, std::uint64_t per_hundred);

// --- graphs and machines ---

// The paper's two machines, with roofline costs and shared links.
inline constexpr const char* kFourDevices = "4xP100";
inline constexpr const char* kEightDevices = "8xV100";
// The machine for the published graph files, whose times are given in them.
inline constexpr const char* kGivenTimes = "uniform:4";

// The problems, methods and scale of one reproduction.
class ReproductionContext {
 public:
  // `graphs_folder` has the published graph files (chainmm.txt, llama_block.txt, …); empty: there
  // are none. `online` may be empty. `methods` must outlive this. Throws InputError if the folder
  // lacks the files.
  ReproductionContext(Scale scale, const place::Registry& methods, const std::string& graphs_folder,
                      OnlineLearning online, StopToken stop);

  const Scale& scale() const { return scale_; }
  const place::Registry& methods() const { return methods_; }
  const OnlineLearning& online() const { return online_; }
  const StopToken& stop() const { return stop_; }

  // Returns the machines for which there are graphs, in the order of the pages.
  const std::vector<std::string>& machines() const { return machines_; }
  // Returns the problem of a graph of the scale on one of the machines.
  const std::shared_ptr<const cost::Problem>& problem(const std::string& machine,
                                                      const std::string& graph) const;

  // Returns a hash of the scale, problems, policies and plans of training, which decide results as
  // long as the program stays the same.
  std::uint64_t hash() const;

 private:
  Scale scale_;
  const place::Registry& methods_;
  OnlineLearning online_;
  StopToken stop_;
  std::vector<std::string> machines_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const cost::Problem>> problems_;
};

// Returns the problem of a small form of a workload, for real cores: a run takes tens of
// milliseconds on two of them.
std::shared_ptr<const cost::Problem> problem_for_cores(const ReproductionContext& context,
                                                       const std::string& graph,
                                                       const std::string& devices);

// --- steps that experiments have in common ---

// The paper's list scheduler, which takes the device on which a node starts first.
inline constexpr const char* kCriticalPath = "critical-path-start";
// The paper's methods: stages I and II, and all three.
inline constexpr const char* kDopplerSim = "doppler-sim";
inline constexpr const char* kDopplerSys = "doppler-sys";

// The names of numbers in cells: the time of the placement in the simulator, and on an engine.
inline constexpr const char* kSimulated = "simulated";
inline constexpr const char* kEngine = "engine";

// The number of placements that are sampled from a trained policy, of which the best counts.
inline constexpr std::size_t kBestOfSamples = 64;

// Returns the seconds of CPU time that the calling thread has used, on which other work on the
// machine has little influence.
double thread_seconds();

// Returns the placement of a method: one of the registry by its name, or one of the two above,
// trained as the scale says.
schedule::Placement place_by(const ReproductionContext& context,
                             const std::shared_ptr<const cost::Problem>& problem,
                             const std::string& method, std::uint64_t seed);

struct Trained {
  policy::Policy policy = {};
  // The best placement that was seen, in training or among kBestOfSamples samples afterwards.
  schedule::Placement placement = {};
  double makespan = 0.0;  // of the placement, simulated
  double seconds = 0.0;   // CPU time of the training
};

// Returns the plan for stages I and II at this scale.
train::TrainingPlan plan_of(const Scale& scale, std::uint64_t seed);
// Returns the plan for stages I and II as published, with so many episodes in all.
train::TrainingPlan published_plan_of(const Scale& scale, std::uint64_t episodes,
                                      std::uint64_t seed);
// Returns the plan for fine-tuning after a transfer: fewer episodes, smaller steps, no imitation.
train::TrainingPlan finetuning_of(const Scale& scale, std::uint64_t seed);

// Trains on one problem until the plan is done. Calls `watch` before the first update and after
// each.
Trained train_on(const ReproductionContext& context,
                 const std::shared_ptr<const cost::Problem>& problem,
                 const train::TrainingPlan& plan, std::vector<float> start = {},
                 const std::function<void(const train::Training&)>& watch = {});

// Returns the best of a number of samples of a policy.
schedule::Placement place_with(const ReproductionContext& context, const cost::Problem& problem,
                               std::shared_ptr<const policy::Policy> policy, std::size_t samples,
                               std::uint64_t seed);

// Returns the makespan of a placement, simulated with the problem's costs.
double simulated(const cost::Problem& problem, const schedule::Placement& placement);

// Returns the true costs of a machine that is not as the placer believes (see online_learning.h).
exec::MachineSkew hidden_truth(const cost::Problem& problem, std::uint64_t seed);
// Returns the median time of some runs of the emulated engine on its virtual clock.
double engine_time(const ReproductionContext& context,
                   const std::shared_ptr<const cost::Problem>& problem,
                   const schedule::Placement& placement, const exec::MachineSkew& truth,
                   std::uint64_t seed);

// Returns the share of the bytes that nodes read from each other that stays on a device.
double kept_share(const graph::Graph& graph, const schedule::Placement& placement);

}  // namespace doppler::lab
