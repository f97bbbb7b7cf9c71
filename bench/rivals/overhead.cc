#include "bench/rivals/overhead.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "bench/rivals/engine_runtime.h"
#include "bench/rivals/interleaved.h"
#include "bench/rivals/order_probe.h"
#include "bench/rivals/shapes.h"
#include "bench/rivals/starpu_runtime.h"
#include "bench/rivals/tbb_runtime.h"
#include "doppler/base/error.h"

namespace doppler::bench {
namespace {

constexpr int kOverheadWarmUp = 3;
constexpr int kCheckedRuns = 3;

// The rivals once more, with work that watches them.
void check_rivals(const Shape& shape, const TaskGraph& tasks, const StarpuSession& session) {
  const auto check = [&](Runtime& runtime, const OrderProbe& probe, bool pins) {
    for (int i = 0; i < kCheckedRuns; ++i) timed_run(runtime);
    if (probe.in_order() && (!pins || probe.pinned())) return;
    throw InternalError(fmt::format("{} does not keep to '{}'", runtime.name(), shape.name));
  };
  OrderProbe of_tasks(tasks), of_data(tasks), of_tbb(tasks);
  StarpuTasks starpu(session, tasks, &of_tasks, /*priorities=*/false);
  check(starpu, of_tasks, true);
  StarpuData starpu_data(session, tasks, &of_data);
  check(starpu_data, of_data, true);
  TbbRuntime tbb(tasks, static_cast<int>(shape.problem->device_count()), &of_tbb,
                 /*priorities=*/false);
  check(tbb, of_tbb, false);
}

void check_engine(const Shape& shape, EngineRuntime& engine) {
  engine.run();
  const graph::SerialRunner<float> serial(shape.problem->graph());
  if (engine.results() == serial.run(shape.values)) return;
  throw InternalError(fmt::format("the engine's results for '{}' are wrong", shape.name));
}

std::vector<std::string> measure_shape(const Shape& shape, int runs, Report& report) {
  const auto workers = static_cast<unsigned>(shape.problem->device_count());
  const std::size_t nodes = shape.problem->node_count();
  const TaskGraph tasks(shape.problem->graph(), shape.placement);
  const StarpuSession session(workers);
  check_rivals(shape, tasks, session);
  EngineRuntime engine(shape.problem, shape.placement, shape.values);
  check_engine(shape, engine);
  const std::size_t transfers = engine.timeline().transfers.size();

  StarpuTasks starpu(session, tasks, nullptr, /*priorities=*/false);
  StarpuData starpu_data(session, tasks, nullptr);
  TbbRuntime tbb(tasks, static_cast<int>(workers), nullptr, /*priorities=*/false);
  Runtime* const runtimes[] = {&engine, &starpu, &starpu_data, &tbb};
  const std::vector<Times> times = measure_interleaved(runtimes, kOverheadWarmUp, runs);

  std::vector<std::string> line{shape.name, fmt::format("{}", nodes), fmt::format("{}", transfers)};
  const double scale = 1e6 / static_cast<double>(nodes);
  double noise = 0.0;
  for (std::size_t r = 0; r < times.size(); ++r) {
    line.push_back(fmt::format("{:.3f}", scale * times[r].median()));
    noise = std::max(noise, times[r].noise());
    report.add({.part = "overhead",
                .subject = shape.name,
                .nodes = nodes,
                .transfers = transfers,
                .runtime = std::string(runtimes[r]->name()),
                .quantity = "microseconds_per_node",
                .runs = times[r].seconds.size(),
                .median = scale * times[r].median(),
                .max = scale * times[r].max(),
                .noise = times[r].noise()});
  }
  for (std::size_t r = 1; r < times.size(); ++r) {
    line.push_back(fmt::format("{:.2f}", times[0].median() / times[r].median()));
  }
  line.push_back(fmt::format("{:.0f} %", 100.0 * noise));
  return line;
}

}  // namespace

void measure_overhead(std::size_t nodes, int runs, Report& report) {
  fmt::print(
      "Overhead: microseconds per node, kernels of one element (ours) or empty functions, medians "
      "of {}\ninterleaved runs; then ours as a multiple of each rival's, and the largest "
      "noise.\n\n",
      runs);
  std::vector<std::vector<std::string>> lines{{"shape", "nodes", "copies", "doppler", "starpu",
                                               "starpu-data", "tbb", "/ starpu", "/ starpu-data",
                                               "/ tbb", "noise"}};
  for (const Shape& shape : shapes(nodes)) lines.push_back(measure_shape(shape, runs, report));
  print_table(lines);
}

}  // namespace doppler::bench
