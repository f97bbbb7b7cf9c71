#include "doppler/exec/measurers.h"

#include <algorithm>
#include <utility>

#include "doppler/base/rng.h"
#include "doppler/exec/admission.h"
#include "doppler/exec/dispatch_queue.h"
#include "doppler/exec/timed_run.h"
#include "doppler/exec/transfer_plan.h"

namespace doppler::exec {

namespace {

schedule::Placement checked(const cost::Problem& problem, schedule::Placement placement) {
  schedule::check_placement(problem, placement);
  return placement;
}

}  // namespace

Session::Session(RemainingWork rest, schedule::Placement given, std::shared_ptr<const Backend> on,
                 DispatchQueue::Rules rules)
    : problem(std::move(rest.problem)),
      placement(checked(*problem, std::move(given))),
      backend(std::move(on)),
      nodes(std::move(rest.nodes)),
      tensors(std::move(rest.tensors)),
      wiring(*problem, placement),
      order(find_start_order(*problem, placement, wiring, rules.mode)),
      core(*problem, placement, wiring, rules, &order) {}

namespace {

// Placements that are kept ready: a race has two.
constexpr std::size_t kPlacementsKept = 4;

}  // namespace

// Stays where it was made: the core refers to the rest.
struct VirtualMachine::Loaded {
  Loaded(const cost::Problem& problem, const schedule::Placement& given)
      : placement(given),
        wiring(problem, placement),
        order(find_start_order(problem, placement, wiring, schedule::Mode::kWorkConserving)),
        core(problem, placement, wiring, DispatchQueue::Rules{}, &order) {}

  const schedule::Placement placement;
  const TransferPlan wiring;
  const StartOrder order;
  DispatchQueue core;
};

VirtualMachine::VirtualMachine(std::shared_ptr<const cost::Problem> problem,
                               const MachineSkew& deviation, std::uint64_t seed)
    : problem_(std::move(problem)), pace_(*problem_, deviation), seed_(seed) {}

VirtualMachine::~VirtualMachine() = default;

void VirtualMachine::change(const MachineSkew& deviation) {
  pace_ = DurationModel(*problem_, deviation);
}

VirtualMachine::Loaded& VirtualMachine::load(const schedule::Placement& placement) {
  const auto found = std::find_if(loaded_.begin(), loaded_.end(), [&](const auto& loaded) {
    return loaded->placement == placement;
  });
  if (found != loaded_.end()) {
    std::rotate(loaded_.begin(), found, found + 1);
  } else {
    schedule::check_placement(*problem_, placement);
    loaded_.push_front(std::make_unique<Loaded>(*problem_, placement));
    if (loaded_.size() > kPlacementsKept) loaded_.pop_back();
  }
  return *loaded_.front();
}

schedule::Timeline VirtualMachine::measure(const schedule::Placement& placement,
                                           std::uint64_t run) {
  Loaded& loaded = load(placement);
  return run_virtually(*problem_, loaded.placement, loaded.wiring, loaded.core, pace_,
                       mix64(seed_ ^ mix64(run)));
}

EngineMeasurer::EngineMeasurer(std::shared_ptr<const cost::Problem> problem, EngineOptions options,
                               Values values, std::uint64_t seed)
    : engine_(std::move(problem), std::move(options)), values_(std::move(values)), seed_(seed) {}

schedule::Timeline EngineMeasurer::measure(const schedule::Placement& placement,
                                           std::uint64_t run) {
  if (loaded_ != placement) {
    loaded_ = {};
    engine_.load(placement);
    loaded_ = placement;
  }
  if (!values_.empty() && !has_values_) {
    engine_.set(values_);
    has_values_ = true;
  }
  return engine_.run(mix64(seed_ ^ mix64(run)));
}

}  // namespace doppler::exec
