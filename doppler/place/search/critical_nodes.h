// The nodes on the chain of causes that ends with the makespan, for searches that want to know
// where a change can help.
#pragma once

#include <cstdint>
#include <vector>

#include "doppler/sim/node_state.h"

namespace doppler::place {

struct CriticalNode {
  std::uint32_t node;
  bool waited;  // it was ready but its device ran something else, the next entry
};

// From the last node to end back to one that waited for nothing. Replaces `chain`.
void critical_nodes(const sim::RunView& run, std::vector<CriticalNode>& chain);

}  // namespace doppler::place
