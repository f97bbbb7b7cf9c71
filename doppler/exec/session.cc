#include "doppler/exec/session.h"

#include <utility>

namespace doppler::exec {
namespace {

schedule::Placement checked(const cost::Problem& problem, schedule::Placement placement) {
  schedule::check_placement(problem, placement);
  return placement;
}

}  // namespace

Session::Session(Rest rest, schedule::Placement given, std::shared_ptr<const Backend> on,
                 Core::Rules rules)
    : problem(std::move(rest.problem)),
      placement(checked(*problem, std::move(given))),
      backend(std::move(on)),
      nodes(std::move(rest.nodes)),
      tensors(std::move(rest.tensors)),
      wiring(*problem, placement),
      order(find_start_order(*problem, placement, wiring, rules.mode)),
      core(*problem, placement, wiring, rules, &order) {}

}  // namespace doppler::exec
