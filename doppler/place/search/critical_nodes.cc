#include "doppler/place/search/critical_nodes.h"

#include "doppler/sim/run_state.h"

namespace doppler::place {

void critical_nodes(const cost::Problem& problem, const schedule::Placement& placement,
                    const sim::RunView& run, std::vector<CriticalNode>& chain) {
  chain.clear();
  std::uint32_t at = 0;
  double latest = -1.0;
  for (std::uint32_t v = 0; v < run.start.size(); ++v) {
    const double end = run.start[v] + problem.compute_time(NodeId(v), placement.device[v]);
    if (end > latest) {
      latest = end;
      at = v;
    }
  }
  while (at != sim::kNoNode) {
    const bool waited = run.start[at] > run.state[at].ready && run.previous[at] != sim::kNoNode;
    chain.push_back({at, waited});
    at = waited ? run.previous[at] : run.state[at].cause;
  }
}

}  // namespace doppler::place
