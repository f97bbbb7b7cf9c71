// A placement made ready to run: all that is worked out once and used by every run of it. Holds
// references into itself, so it stays where it was made.
#pragma once

#include <memory>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/exec/backend.h"
#include "doppler/exec/dispatch_queue.h"
#include "doppler/exec/remaining_work.h"
#include "doppler/exec/start_order.h"
#include "doppler/exec/transfer_plan.h"
#include "doppler/schedule/placement.h"

namespace doppler::exec {

struct Session {
  // Of what is left of a problem, or of all of it: Rest{problem}. Throws ParameterError or
  // InfeasibleError for a placement that is not one of this problem, breaks a constraint or does
  // not fit into memory.
  Session(Rest rest, schedule::Placement given, std::shared_ptr<const Backend> on,
          Core::Rules rules);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Ids in the whole graph.
  NodeId whole(NodeId node) const { return nodes.empty() ? node : nodes[node.index()]; }
  TensorId whole(TensorId tensor) const {
    return tensors.empty() ? tensor : tensors[tensor.index()];
  }

  const std::shared_ptr<const cost::Problem> problem;
  const schedule::Placement placement;
  const std::shared_ptr<const Backend> backend;
  const std::vector<NodeId> nodes;      // empty: the session is of the whole
  const std::vector<TensorId> tensors;  // likewise
  const Wiring wiring;
  const StartOrder order;
  Core core;
};

}  // namespace doppler::exec
