// Runs random tensor programs, split and placed at random, in random order on the engine, again and
// again, and compares all results with the serial runner's, bit for bit: engine_soak [RUNS [SEED]].
// Half of the programs run on real cores and half on emulated machines. Some runs have barely
// enough memory; some lose devices, and then the results are right or refused. Ends when so many
// runs lost devices on each of the two back ends, or at the first difference; a run that does not
// end within a minute counts as one. Not part of the tests, since it takes minutes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/base/stop.h"
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

using Clock = std::chrono::steady_clock;

constexpr int kRunsPerProgram = 20;

struct Counts {
  std::uint64_t runs = 0, tight = 0;
  // Runs during which devices were lost, by what came of them. The results of a run are refused
  // where nothing is placed anew, and where a device was lost with some of them when the run had
  // ended.
  std::uint64_t right_after_loss = 0, refused_after_loss = 0;

  std::uint64_t losses() const { return right_after_loss + refused_after_loss; }
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

struct Loss {
  DeviceId device;
  double seconds = 0.0;  // from the start of the run
};

// Some devices, but not all, at moments of a run that takes about `seconds` or just after it.
std::vector<Loss> random_losses(std::uint32_t devices, double seconds, Rng& rng) {
  std::vector<Loss> losses;
  for (std::uint32_t d = 0; d < devices; ++d) {
    losses.push_back({DeviceId(d), rng.uniform(0.0, 1.2 * seconds)});
  }
  rng.shuffle(losses);
  losses.resize(1 + rng.below(devices - 1));
  std::sort(losses.begin(), losses.end(),
            [](const Loss& a, const Loss& b) { return a.seconds < b.seconds; });
  return losses;
}

// A program on an engine, and what its runs must give.
struct Subject {
  exec::Engine engine;
  std::uint32_t devices;
  exec::Values values, expected;
  bool migrates;  // what a lost device was to do is placed anew
};

// Runs once without losses.
void run_whole(Subject& subject, std::uint64_t seed) {
  subject.engine.set(subject.values);
  subject.engine.run(seed);
  if (subject.engine.results() != subject.expected) throw RunError("results differ");
}

// Runs once and loses devices meanwhile; all of them are back afterwards, and nothing is loaded.
// `seconds` is how long the run before took and becomes how long this one did.
void run_with_losses(Subject& subject, double& seconds, Rng& rng, Counts& counts) {
  exec::Engine& engine = subject.engine;
  engine.set(subject.values);
  const std::vector<Loss> losses = random_losses(subject.devices, seconds, rng);
  const bool also_after = rng.chance(0.2);  // devices are lost even if the run has ended
  const std::uint64_t seed = rng(), ended = engine.ended_runs();
  const Clock::time_point begin = Clock::now();
  std::vector<DeviceId> lost;
  bool in_run = false, right = false;
  std::jthread saboteur([&] {
    for (const Loss& loss : losses) {
      std::this_thread::sleep_until(begin + std::chrono::duration<double>(loss.seconds));
      const bool now = engine.lose_unless_ended(loss.device, ended);
      in_run |= now;
      if (!now && also_after) engine.lose(loss.device);
      if (now || also_after) lost.push_back(loss.device);
    }
  });
  try {
    engine.run(seed);
    seconds = seconds_since(begin);
    saboteur.join();
    right = engine.results() == subject.expected;
    if (!right) throw InternalError("results differ after a loss");
  } catch (const exec::HungError&) {
    throw;
  } catch (const RunError&) {
    if (subject.migrates && !also_after) throw;
    if (saboteur.joinable()) saboteur.join();
    if (!in_run && !also_after) throw;
  }
  for (const DeviceId device : lost) engine.restore(device);
  if (in_run) ++(right ? counts.right_after_loss : counts.refused_after_loss);
}

// Throws Error where results differ.
void soak_program(std::uint64_t seed, std::string_view backend, Counts& counts) {
  Rng rng = Rng::stream(seed, 0x50a4);
  const auto [program, differentiable, inputs] = test::random_program(seed);
  test::CompileSetup options{.train = true, .rate = 0.5};
  options.machine.devices = 1 + rng.below(6);
  compile::FoundPlan compiled = test::compile_program(program, options);
  const exec::Values values = test::graph_inputs<float>(compiled.lowered, inputs);
  const auto graph = std::make_shared<const graph::Graph>(std::move(compiled.lowered.graph));
  const std::uint32_t devices = 2 + rng.below(3);
  const bool emulated = backend == exec::kEmulatedBackend;
  const auto topology = std::make_shared<const device::Topology>(device::topology_from_spec(
      fmt::format(fmt::runtime(emulated && rng.chance(0.5) ? "{}xP100" : "cpu:{}"), devices)));
  const auto roomy = std::make_shared<const cost::Problem>(graph, topology);
  const schedule::Placement first = random_placement(*roomy, rng);
  const bool tight = rng.chance(0.2), lossy = !tight && rng.chance(0.7);
  const auto problem = tight ? tightened(roomy, first) : roomy;
  Rng replacing = Rng::stream(seed, 0x10e5);
  exec::EngineOptions engine_options{
      .backend = std::string(backend),
      .choice = rng.chance(0.7) ? schedule::Choice::kRandom : schedule::Choice::kPriority,
      .watchdog_seconds = 60.0};
  const bool migrates = lossy && rng.chance(0.8);
  if (migrates) {
    engine_options.replace = [&](const cost::Problem& remaining) {
      return random_placement(remaining, replacing);
    };
  }
  Subject subject{.engine = exec::Engine(problem, engine_options),
                  .devices = devices,
                  .values = values,
                  .expected = graph::SerialRunner<float>(*graph).run(values),
                  .migrates = migrates};
  try {
    subject.engine.load(first);
  } catch (const InfeasibleError&) {
    return;  // stricter than the simulator about nodes that take no time
  }
  double seconds = 2e-4;
  for (int run = 0; run < kRunsPerProgram; ++run) {
    if (!tight && run % 5 == 4) subject.engine.load(random_placement(*problem, rng));
    if (lossy) {
      run_with_losses(subject, seconds, rng, counts);
      subject.engine.load(random_placement(*problem, rng));
    } else {
      run_whole(subject, rng());
    }
    ++counts.runs;
    counts.tight += tight;
  }
}

}  // namespace
}  // namespace doppler

int main(int argc, char** argv) {
  using namespace doppler;
  const std::uint64_t wanted = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000;
  std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  for (const std::string_view backend : {exec::kThreadsBackend, exec::kEmulatedBackend}) {
    Counts counts;
    for (; counts.losses() < wanted; ++seed) {
      try {
        soak_program(seed, backend, counts);
      } catch (const std::exception& error) {
        fmt::print(stderr, "engine_soak: error: {}, seed {}: {}\n", backend, seed, error.what());
        return 1;
      }
    }
    fmt::print(
        "{}: {} runs as they should be; {} had just enough memory; {} lost devices, after which {} "
        "had the right results and {} were refused\n",
        backend, counts.runs, counts.tight, counts.losses(), counts.right_after_loss,
        counts.refused_after_loss);
    std::fflush(stdout);
  }
}
