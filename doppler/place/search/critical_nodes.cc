#include "doppler/place/search/critical_nodes.h"

namespace doppler::place {

void critical_nodes(std::span<const sim::NodeState> run, std::vector<CriticalNode>& chain) {
  chain.clear();
  std::uint32_t at = 0;
  double latest = -1.0;
  for (std::uint32_t v = 0; v < run.size(); ++v) {
    const double end = run[v].start + run[v].duration;
    if (end > latest) {
      latest = end;
      at = v;
    }
  }
  while (at != sim::kNoNode) {
    const bool waited = run[at].start > run[at].ready && run[at].previous != sim::kNoNode;
    chain.push_back({at, waited});
    at = waited ? run[at].previous : run[at].cause;
  }
}

}  // namespace doppler::place
