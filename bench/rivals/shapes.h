// Graphs whose nodes do next to nothing, so that what is measured is what a runtime adds to each:
// kernels on one element, placed on one or two workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/graph/serial_runner.h"
#include "doppler/schedule/placement.h"

namespace doppler::bench {

struct Shape {
  std::string name;
  std::shared_ptr<const cost::Problem> problem;
  schedule::Placement placement;
  graph::TensorValues<float> values;  // of inputs
};

// One chain; two chains on a worker each; forks and joins; a random layered graph, each node on a
// random one of two workers. About `nodes` nodes each.
std::vector<Shape> shapes(std::size_t nodes);

}  // namespace doppler::bench
