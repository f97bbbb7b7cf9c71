// Explains why a node is where it is: what it waits for, whether the run waits for it, and what
// each other device would cost. Times are in the problem's unit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

namespace doppler::analysis {

// A tensor that a node reads and waits for.
struct NodeInput {
  TensorId tensor;
  NodeId producer;  // invalid for an input or parameter with a home
  DeviceId from = {};
  bool moved = false;  // from another device
  double bytes = 0.0;
  double complete = 0.0;  // when it is complete on the device `from`
  double arrived = 0.0;   // when it is on the node's device
};

// Tells what would happen if the node, with those colocated with it, were on another device.
struct NodeAlternative {
  DeviceId device;
  double compute = 0.0;        // the node's time there; infinite where it cannot run
  double bytes_to_move = 0.0;  // of the inputs that are not there
  // The simulated makespan; absent where a constraint or memory forbids it, which `obstacle` tells.
  std::optional<double> makespan = std::nullopt;
  std::string obstacle = {};
};

struct NodeExplanation {
  NodeId node;
  DeviceId device;
  schedule::NodeRun run;
  double makespan = 0.0;
  double bytes_out = 0.0;

  std::vector<NodeInput> inputs = {};  // the last to arrive first
  double ready = 0.0;                  // when all were there
  NodeId ran_before = {};  // what ran on the device while this was ready; invalid where nothing did
  bool critical = false;   // the critical chain goes through it, or it ends with the run
  // The least time between the arrival of its results and the start of a node that uses them;
  // absent where nothing uses them.
  std::optional<double> spare = std::nullopt;
  std::size_t colocated = 0;  // nodes that go where it goes

  std::vector<NodeAlternative> alternatives = {};  // its own device first, then the best first
  std::size_t devices_not_tried = 0;
};

// Returns the node of that name. Throws ParameterError with the closest names where there is none.
NodeId find_node(const graph::Graph& graph, const std::string& name);

// Explains the node's place in the nominal run. REQUIRES: the placement passes check_placement.
NodeExplanation explain_node(const cost::Problem& problem, const schedule::Placement& placement,
                             NodeId node);

}  // namespace doppler::analysis
