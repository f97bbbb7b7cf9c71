// A graph of three nodes, a fork, on two devices: what files of placements, costs and trainings are
// read for. The functions return the same every time.
#pragma once

#include <memory>

#include "doppler/cost/problem.h"
#include "doppler/device/spec.h"
#include "doppler/graph/builder.h"

namespace fuzzing {

inline std::shared_ptr<const doppler::cost::Problem> small_problem() {
  using namespace doppler;
  static const auto problem = [] {
    graph::GraphBuilder builder;
    const NodeId a = builder.add_node({.name = "a", .time = 1.0});
    const NodeId b = builder.add_node({.name = "b", .time = 2.0});
    const NodeId c = builder.add_node({.name = "c", .time = 1.5});
    const TensorId x = builder.add_output(a, 8.0, 0.5);
    builder.connect(x, b);
    builder.connect(x, c);
    return std::make_shared<const cost::Problem>(
        std::make_shared<const graph::Graph>(std::move(builder).build()),
        std::make_shared<const device::Topology>(device::topology_from_spec("uniform:2")));
  }();
  return problem;
}

}  // namespace fuzzing
