// Runs random tensor programs, split and placed at random, in random order on the engine, again and
// again, and compares all results with the serial runner's, bit for bit: engine_soak [RUNS [SEED]].
// Some runs have barely enough memory, some lose devices. Stops at the first difference; a run that
// does not end within a minute counts as one. Not part of the tests, since it takes minutes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/device/spec.h"
#include "doppler/exec/engine.h"
#include "doppler/graph/serial_runner.h"
#include "doppler/schedule/memory.h"
#include "doppler/sim/simulator.h"
#include "doppler/tra/computation.h"
#include "support/lowered.h"
#include "support/random_programs.h"

namespace doppler {
namespace {

constexpr int kRunsPerProgram = 20;

struct Counts {
  std::uint64_t runs = 0, programs = 0, tight = 0, losses = 0;
};

schedule::Placement random_placement(const cost::Problem& problem, Rng& rng) {
  std::vector<DeviceId> device;
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    const auto allowed = problem.allowed_devices(NodeId::of(v));
    device.push_back(allowed[rng.below(static_cast<std::uint32_t>(allowed.size()))]);
  }
  schedule::Placement placement = schedule::with_b_levels(problem, std::move(device));
  if (rng.chance(0.5)) {
    for (double& priority : placement.priority) priority = rng.uniform(0.0, 1.0);
  }
  return placement;
}

// The same problem with just the memory that the placement takes.
std::shared_ptr<const cost::Problem> tightened(const std::shared_ptr<const cost::Problem>& problem,
                                               const schedule::Placement& placement) {
  schedule::MemoryMeter meter(*problem);
  meter.measure(sim::Simulator(*problem).timeline(placement));
  cost::ProblemOptions options;
  for (std::size_t d = 0; d < problem->device_count(); ++d) {
    options.constraints.memory.push_back(
        {problem->topology().devices()[d].name, static_cast<std::uint64_t>(meter.peak_bytes()[d])});
  }
  return std::make_shared<const cost::Problem>(problem->shared_graph(), problem->shared_topology(),
                                               options);
}

// Throws Error where results differ.
void soak_program(std::uint64_t seed, Counts& counts) {
  Rng rng = Rng::stream(seed, 0x50a4);
  const auto [program, differentiable, inputs] = test::random_program(seed);
  test::CompileSetup options{.train = true, .rate = 0.5};
  options.machine.devices = 1 + rng.below(6);
  compile::FoundPlan compiled = test::compile_program(program, options);
  const exec::Values values = test::graph_inputs<float>(compiled.lowered, inputs);
  const auto graph = std::make_shared<const graph::Graph>(std::move(compiled.lowered.graph));
  const exec::Values expected = graph::SerialRunner<float>(*graph).run(values);
  const std::uint32_t devices = 2 + rng.below(3);
  const auto topology = std::make_shared<const device::Topology>(
      device::topology_from_spec(fmt::format("cpu:{}", devices)));
  const auto roomy = std::make_shared<const cost::Problem>(graph, topology);
  const schedule::Placement first = random_placement(*roomy, rng);
  const bool tight = rng.chance(0.3);
  const bool lossy = !tight && rng.chance(0.3);
  const auto problem = tight ? tightened(roomy, first) : roomy;
  Rng replacing = Rng::stream(seed, 0x10e5);
  exec::EngineOptions engine_options{
      .choice = rng.chance(0.7) ? schedule::Choice::kRandom : schedule::Choice::kPriority,
      .watchdog_seconds = 60.0};
  if (lossy) {
    engine_options.replace = [&](const cost::Problem& remaining) {
      return random_placement(remaining, replacing);
    };
  }
  exec::Engine engine(problem, engine_options);
  try {
    engine.load(first);
  } catch (const InfeasibleError&) {
    return;  // stricter than the simulator about nodes that take no time
  }
  for (int run = 0; run < kRunsPerProgram; ++run) {
    if (!tight && run % 5 == 4) engine.load(random_placement(*problem, rng));
    engine.set(values);
    const auto lost = DeviceId(rng.below(devices));
    std::thread saboteur;
    if (lossy) {
      saboteur = std::thread([&, microseconds = rng.below(300)] {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        engine.lose(lost);
      });
    }
    const auto join = [&] {
      if (saboteur.joinable()) saboteur.join();
    };
    try {
      engine.run(rng.below(1u << 30));
    } catch (...) {
      join();
      throw;
    }
    join();
    exec::Values found;
    bool gone = false;
    try {
      found = engine.results();
    } catch (const RunError&) {
      gone = true;  // the device failed just after the run
    }
    if (lossy) {
      engine.restore(lost);
      engine.load(random_placement(*problem, rng));
      ++counts.losses;
    }
    ++counts.runs;
    counts.tight += tight;
    if (!gone && found != expected) {
      throw RunError(fmt::format("seed {}, run {}: results differ", seed, run));
    }
  }
  ++counts.programs;
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  const std::uint64_t runs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
  std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  doppler::Counts counts;
  try {
    for (; counts.runs < runs; ++seed) doppler::soak_program(seed, counts);
  } catch (const std::exception& error) {
    fmt::print(stderr, "engine_soak: error: seed {}: {}\n", seed, error.what());
    return 1;
  }
  fmt::print(
      "{} runs of {} programs: all ended with the serial runner's results; {} with just enough "
      "memory, {} lost a device\n",
      counts.runs, counts.programs, counts.tight, counts.losses);
}
