#include "doppler/exec/prepared_placement.h"

#include <utility>

#include "doppler/exec/timed_run.h"

namespace doppler::exec {
namespace {

schedule::Placement checked(const cost::Problem& problem, schedule::Placement placement) {
  schedule::check_placement(problem, placement);
  return placement;
}

}  // namespace

PreparedPlacement::PreparedPlacement(std::shared_ptr<const cost::Problem> given_problem,
                                     schedule::Placement given_placement,
                                     DispatchQueue::Rules rules)
    : problem(std::move(given_problem)),
      placement(checked(*problem, std::move(given_placement))),
      transfer_plan(*problem, placement),
      start_order(find_start_order(*problem, placement, transfer_plan, rules.mode)),
      queue(*problem, placement, transfer_plan, rules, &start_order) {}

schedule::Timeline run_virtually(PreparedPlacement& prepared, const DurationModel& durations,
                                 std::uint64_t seed) {
  return run_virtually(*prepared.problem, prepared.placement, prepared.transfer_plan,
                       prepared.queue, durations, seed);
}

}  // namespace doppler::exec
