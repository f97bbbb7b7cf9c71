// Training policies for a graph in three stages: imitation of a heuristic, episodes in the
// simulator, and runs on an engine, here an emulated one whose second GPU is slower than it seems.
#include <cstdio>
#include <filesystem>

#include "doppler/api/doppler.h"

int main(int argc, char** argv) {
  using namespace doppler;

  const auto problem = api::make_problem(api::generate_random({.nodes = 60}), "4xP100");
  const std::string folder = argc > 1 ? argv[1] : "trained";
  api::SessionSettings session;
  session.folder = folder;
  session.resume = std::filesystem::exists(folder);  // a session that was stopped goes on
  session.stages = {api::Stage::kImitation, api::Stage::kSimulation, api::Stage::kReal};
  session.plan.shape.width = 8;
  session.plan.imitation_episodes = 64;
  session.plan.episodes = 800;
  session.service.machine.backend = exec::kEmulatedBackend;
  session.service.machine.clock = exec::EngineClock::kVirtual;
  session.service.machine.skew = {.device_factors = {{"gpu1", 1.6}}, .jitter = 0.03};
  session.service.runs = 300;
  const api::SessionResult result = api::train(problem, session);

  std::printf("best in the simulator: %.3f ms\n", 1e3 * result.offline->seeds[0].best_times[0]);
  std::printf("in service: %.3f ms at first, %.3f ms after %zu changes of placement\n",
              1e3 * result.service->first_median, 1e3 * result.service->last_median,
              result.service->summary.promotions.size());
  const api::Result placed =
      api::place(*problem, {.method = "policy", .policy = {.file = result.policy_path}});
  std::printf("the policy alone: %.3f ms\n", 1e3 * placed.figures.nominal);
}
