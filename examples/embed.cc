// Doppler inside another program: build a graph, name the devices, get a placement.
#include <cstdio>

#include "doppler/api/doppler.h"

int main() {
  using namespace doppler;

  // Four branches of two products each that meet in one sum.
  graph::GraphBuilder builder;
  const NodeId sum = builder.add_node({.name = "sum", .op = "add", .flops = 4e6});
  for (int i = 0; i < 4; ++i) {
    const std::string branch = std::to_string(i);
    const NodeId up = builder.add_node({.name = "up" + branch, .op = "matmul", .flops = 4e11});
    const NodeId down = builder.add_node({.name = "down" + branch, .op = "matmul", .flops = 2e11});
    builder.connect(builder.add_output(up, 64e6), down);
    builder.connect(builder.add_output(down, 4e6), sum);
  }
  builder.add_output(sum, 4e6);

  const auto problem = api::make_problem(std::move(builder).build(), "4xA100");
  const place::Result result = api::place(*problem, {.run = {.budget_seconds = 1.0}});

  for (std::size_t v = 0; v < problem->node_count(); ++v) {
    std::printf("%-6s on %s\n", std::string(problem->graph().node_name(NodeId::of(v))).c_str(),
                problem->topology().device(result.placement.device[v]).name.c_str());
  }
  std::printf("%.3f ms, at most %.1f %% above the best possible\n", 1e3 * result.figures.nominal,
              100.0 * result.gap);
}
