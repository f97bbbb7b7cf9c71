#include "doppler/place/search/critical_nodes.h"

namespace doppler::place {

void critical_nodes(const sim::RunView& run, std::vector<CriticalNode>& chain) {
  chain.clear();
  std::uint32_t at = 0;
  double latest = -1.0;
  for (std::uint32_t v = 0; v < run.nodes.size(); ++v) {
    const double end = run.starts[v].start + run.nodes[v].duration;
    if (end > latest) {
      latest = end;
      at = v;
    }
  }
  while (at != sim::kNoNode) {
    const sim::NodeState& node = run.nodes[at];
    const sim::StartState& start = run.starts[at];
    const bool waited = start.start > node.ready && start.previous != sim::kNoNode;
    chain.push_back({at, waited});
    at = waited ? start.previous : node.cause;
  }
}

}  // namespace doppler::place
