// How much of everything a reproduction does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace doppler::lab
