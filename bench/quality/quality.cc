// Makespan per graph, devices, method and seed as CSV, on generated graphs of every family.
//
//   quality_bench [SECONDS per search, default 2] [SEEDS, default 3] [method,method,… default all]
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/parallel.h"
#include "doppler/cost/problem.h"
#include "doppler/device/spec.h"
#include "doppler/graph/generate/random.h"
#include "doppler/place/registry.h"
#include "doppler/schedule/bounds.h"
#include "doppler/sim/repeated_runs.h"

namespace {

using namespace doppler;

struct Setting {
  std::size_t nodes;
  double ccr;
  const char* devices;
};

constexpr Setting kSettings[] = {{12, 1.0, "uniform:3"},    {200, 1.0, "uniform:4"},
                                 {200, 10.0, "uniform:8"},  {500, 1.0, "4xP100"},
                                 {500, 3.0, "8xV100"},      {1000, 1.0, "2n4xA100"},
                                 {1000, 3.0, "2xA100+2xT4"}};

void run(double seconds, int seeds, const std::string& wanted) {
  const place::Registry methods = place::classical_methods();
  fmt::print("family,nodes,ccr,devices,method,seed,makespan,robust,any_order,bound,seconds\n");
  for (const graph::Family family : graph::all_families()) {
    for (const Setting& setting : kSettings) {
      const auto graph = std::make_shared<graph::Graph>(graph::generate_random(
          {.family = family, .nodes = setting.nodes, .ccr = setting.ccr, .seed = 1}));
      const auto topology =
          std::make_shared<device::Topology>(device::topology_from_spec(setting.devices));
      // Presets have the costs of all earlier measurements; on uniform:N times are given.
      const cost::Problem problem(
          graph, topology,
          {.costs = topology->given_costs_by_default() ? cost::CostSource::kGiven
                                                       : cost::CostSource::kRoofline});
      const double bound = schedule::best_bound(problem).value;
      for (const place::Placer* method : methods.all()) {
        if (!wanted.empty() && ("," + wanted + ",").find("," + std::string(method->name()) + ",") ==
                                   std::string::npos) {
          continue;
        }
        if (method->name() == "exact" && problem.node_count() > 16) continue;
        for (int seed = 1; seed <= seeds; ++seed) {
          const auto began = std::chrono::steady_clock::now();
          const place::PlaceResult result =
              method->place(problem, {.seed = static_cast<std::uint64_t>(seed),
                                      .stop = StopToken::after_seconds(seconds),
                                      .threads = default_thread_count()});
          const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
          const schedule::Figures figures =
              sim::measure_figures(problem, result.placement, static_cast<std::uint64_t>(seed));
          fmt::print("{},{},{},{},{},{},{},{},{},{},{:.3f}\n", graph::family_name(family),
                     problem.node_count(), setting.ccr, setting.devices, method->name(), seed,
                     figures.nominal, figures.robust.mean, figures.any_order.mean, bound,
                     took.count());
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::atof(argv[1]) : 2.0, argc > 2 ? std::atoi(argv[2]) : 3,
        argc > 3 ? argv[3] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "quality_bench: error: {}\n", error.what());
    return 1;
  }
}
