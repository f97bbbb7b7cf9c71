#include "bench/rivals/workload_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "bench/rivals/engine_runtime.h"
#include "bench/rivals/interleaved.h"
#include "bench/rivals/replay.h"
#include "bench/rivals/shared_kernels.h"
#include "bench/rivals/starpu_runtime.h"
#include "bench/rivals/tbb_runtime.h"
#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/kernel/cpu/blas.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/sim/simulator.h"
#include "doppler/tra/language/program_text.h"

namespace doppler::bench {
namespace {

constexpr int kWorkers = 2;
constexpr int kWorkloadWarmUp = 2;
constexpr std::uint64_t kEvaluations = 2000;  // of the search for a placement
constexpr std::uint64_t kWorkloadSeed = 1;

struct Case {
  std::string name;
  std::map<std::string, std::int64_t> sizes;
  bool train = false;
};

// About 10^10 floating-point operations each: some 50 to 100 ms on two cores.
std::vector<Case> cases() {
  const std::map<std::string, std::int64_t> llama{
      {"seq", 384}, {"hidden", 768}, {"heads", 8}, {"ffn", 2048}};
  std::map<std::string, std::int64_t> layer = llama;
  layer["vocab"] = 4000;
  return {{"chainmm", {{"size", 1280}}},
          {"ffnn",
           {{"batch", 768}, {"input", 768}, {"hidden", 1536}, {"output-size", 768}},
           /*train=*/true},
          {"llama-block", llama},
          {"llama-layer", layer}};
}

// Small numbers; of the input `tokens`, which counts rows of a table, whole ones.
exec::Values random_values(const tra::Lowered& lowered, std::int64_t rows) {
  const graph::SerialRunner<float> shapes(lowered.graph);
  Rng rng(kWorkloadSeed);
  exec::Values values;
  for (const tra::Lowered::Input& input : lowered.inputs) {
    const bool counts = input.relation->name == "tokens";
    for (const TensorId block : input.blocks) {
      std::vector<float>& elements = values[block];
      elements.resize(static_cast<std::size_t>(kernel::element_count(*shapes.shape(block))));
      for (float& value : elements) {
        value = counts ? static_cast<float>(rng.below(static_cast<std::uint32_t>(rows)))
                       : static_cast<float>(rng.uniform(-0.1, 0.1));
      }
    }
  }
  return values;
}

bool same_bits(const exec::Values& expected, const exec::Values& found) {
  return std::all_of(expected.begin(), expected.end(), [&](const auto& entry) {
    const auto at = found.find(entry.first);
    return at != found.end() && at->second.size() == entry.second.size() &&
           std::memcmp(at->second.data(), entry.second.data(),
                       entry.second.size() * sizeof(float)) == 0;
  });
}

struct Prepared {
  std::shared_ptr<const cost::Problem> problem;
  schedule::Placement placement;
  exec::Values values;
};

Prepared prepare(const Case& workload) {
  const std::string devices = fmt::format("cpu:{}", kWorkers);
  std::vector<std::string> ignored;
  compile::FoundPlan compiled = api::compile(tra::workload(workload.name, workload.sizes, ignored),
                                             devices, {.train = workload.train});
  DOPPLER_CHECK(ignored.empty());
  const auto vocab = workload.sizes.find("vocab");
  exec::Values values =
      random_values(compiled.lowered, vocab == workload.sizes.end() ? 1 : vocab->second);
  auto problem = api::make_problem(std::move(compiled.lowered.graph), devices);
  schedule::Placement placement =
      api::place(*problem, {.run = {.seed = kWorkloadSeed, .max_evaluations = kEvaluations}})
          .placement;
  return {std::move(problem), std::move(placement), std::move(values)};
}

void add_rows(const Row& common, std::span<Runtime* const> runtimes,
              const std::vector<Times>& times, const std::vector<double>& ratios, Report& report) {
  Row row = common;
  row.quantity = "milliseconds_per_run";
  for (std::size_t r = 0; r < runtimes.size(); ++r) {
    row.runtime = runtimes[r]->name();
    row.median = 1e3 * times[r].median();
    row.max = 1e3 * times[r].max();
    row.noise = times[r].noise();
    report.add(row);
  }
  row.runtime = runtimes[0]->name();
  row.quantity = "measured_over_replayed";
  row.median = doppler::median(ratios);
  row.max = *std::max_element(ratios.begin(), ratios.end());
  row.noise = std::nullopt;
  report.add(row);
}

// A simulated run with its own durations is that run, except for the last bits of sums.
void check_replay(const cost::Problem& problem, const schedule::Placement& placement) {
  const schedule::Timeline run = sim::Simulator(problem).timeline(placement);
  DOPPLER_CHECK(std::abs(replayed_makespan(problem, run) / run.makespan - 1.0) < 1e-9);
}

std::vector<std::string> measure_case(const Case& workload, int runs, Report& report) {
  const auto [problem, placement, values] = prepare(workload);
  check_replay(*problem, placement);
  const graph::Graph& graph = problem->graph();
  const TaskGraph tasks(graph, placement);
  const StarpuSession session(kWorkers);
  SharedKernels starpu_kernels(graph, values), tbb_kernels(graph, values);
  EngineRuntime engine(problem, placement, values);
  StarpuTasks starpu(session, tasks, &starpu_kernels, /*priorities=*/true);
  TbbRuntime tbb(tasks, kWorkers, &tbb_kernels, /*priorities=*/true);
  Runtime* const runtimes[] = {&engine, &starpu, &tbb};

  // The first runs: later ones start from parameters that have changed.
  for (Runtime* const runtime : runtimes) timed_run(*runtime);
  const exec::Values expected = graph::SerialRunner<float>(graph).run(values);
  const exec::Values found[] = {engine.results(), starpu_kernels.results(), tbb_kernels.results()};
  for (std::size_t r = 0; r < std::size(runtimes); ++r) {
    if (same_bits(expected, found[r])) continue;
    throw InternalError(
        fmt::format("the results of {} for {} are wrong", runtimes[r]->name(), workload.name));
  }

  std::vector<double> ratios;  // measured / replayed
  const std::vector<Times> times =
      measure_interleaved(runtimes, kWorkloadWarmUp, runs, [&](std::size_t r, double seconds) {
        if (r == 0) ratios.push_back(seconds / replayed_makespan(*problem, engine.timeline()));
      });

  const std::size_t transfers = engine.timeline().transfers.size();
  add_rows({.part = "workloads",
            .subject = workload.name,
            .nodes = graph.node_count(),
            .transfers = transfers,
            .runs = ratios.size()},
           runtimes, times, ratios, report);
  std::vector<std::string> line{workload.train ? workload.name + ", training" : workload.name,
                                fmt::format("{}", graph.node_count()),
                                fmt::format("{}", transfers)};
  double noise = 0.0;
  for (const Times& each : times) {
    line.push_back(fmt::format("{:.2f}", 1e3 * each.median()));
    noise = std::max(noise, each.noise());
  }
  for (std::size_t r = 1; r < times.size(); ++r) {
    line.push_back(fmt::format("{:.3f}", times[0].median() / times[r].median()));
  }
  line.push_back(fmt::format("{:.0f} %", 100.0 * noise));
  line.push_back(fmt::format("{:.4f}", doppler::median(ratios)));
  line.push_back(fmt::format("{:.4f}", *std::max_element(ratios.begin(), ratios.end())));
  return line;
}

}  // namespace

void measure_workloads(int runs, Report& report) {
  fmt::print(
      "Workloads on cpu:{}: milliseconds per run, medians of {} interleaved runs, every runtime's\n"
      "results equal to the serial runner's; then ours as a multiple of each rival's, the largest\n"
      "noise, and our time over that of the simulator with the durations of the same run.\n\n",
      kWorkers, runs);
  kernel::cpu::use_one_blas_thread();
  std::vector<std::vector<std::string>> lines{{"workload", "nodes", "copies", "doppler", "starpu",
                                               "tbb", "/ starpu", "/ tbb", "noise", "/ replayed",
                                               "largest"}};
  for (const Case& workload : cases()) lines.push_back(measure_case(workload, runs, report));
  print_table(lines);
}

}  // namespace doppler::bench
