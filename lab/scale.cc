#include "lab/scale.h"

#include "doppler/base/hash.h"

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
          .placeto_episodes = 24,
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
          .placeto_episodes = 4,
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
        placeto_episodes, gdp_episodes, message_episodes, online_runs, search_evaluations,
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

}  // namespace doppler::lab
