// Fuzzes files of measured costs: what is read is written again as it was, and a problem has these
// costs or refuses them.
#include <memory>

#include "doppler/cost/measured_costs.h"
#include "small_problem.h"
#include "state_file.h"
#include "target.h"

using namespace doppler;

std::string sound_file(std::uint32_t) {
  const cost::Problem& problem = *fuzzing::small_problem();
  cost::MeasuredCosts costs{.graph = "g.json",
                            .devices = "uniform:2",
                            .graph_hash = problem.graph().hash(),
                            .runs = 5,
                            .kinds = {problem.topology().kinds()[0].name}};
  costs.nodes = {{NodeId(0), 0, 1.5e-3, 1e-5}, {NodeId(2), 0, 0.0, 0.0}};
  costs.transfers = {{TensorId(0), "d0", "d1", 2e-5, 8, cost::Link{1.2e-5, 1.575e10}},
                     {TensorId(0), "d1", "d0", 0.25, 0, std::nullopt}};
  return cost::write_measured_costs_json(problem.graph(), costs);
}

void fuzz(std::string_view bytes) {
  const cost::Problem& problem = *fuzzing::small_problem();
  const graph::Graph& graph = problem.graph();
  auto costs =
      std::make_shared<cost::MeasuredCosts>(cost::read_measured_costs_json("fuzz", bytes, graph));
  const std::string text = cost::write_measured_costs_json(graph, *costs);
  const cost::MeasuredCosts again = cost::read_measured_costs_json("again", text, graph);
  if (cost::write_measured_costs_json(graph, again) != text) __builtin_trap();
  const cost::Problem measured(problem.shared_graph(), problem.shared_topology(),
                               {.costs = cost::CostSource::kMeasured, .measured = costs});
}
