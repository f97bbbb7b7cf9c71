#include "doppler/sim/simulator.h"

#include <optional>

#include "doppler/base/error.h"
#include "doppler/sim/channel_links.h"
#include "doppler/sim/free_links.h"
#include "doppler/sim/run_state.h"

namespace doppler::sim {

class Simulator::State {
 public:
  explicit State(const cost::Problem& problem) : run(problem) {
    if (problem.links() == cost::LinkMode::kFree) {
      free_links.emplace(run);
    } else {
      channel_links.emplace(run);
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  double simulate(const schedule::Placement& placement, const RunOptions& options, double cutoff,
                  schedule::Timeline* record) {
    const std::size_t nodes = run.problem.node_count();
    DOPPLER_CHECK(placement.device.size() == nodes && placement.priority.size() == nodes);
    if (options.jitter > 0.0 && (!jitter || jitter->sigma() != options.jitter)) {
      jitter.emplace(options.jitter);
    }
    const RunInput input{.device = placement.device,
                         .priority = placement.priority,
                         .seed = options.seed,
                         .jitter = options.jitter > 0.0 ? &*jitter : nullptr,
                         .cutoff = cutoff,
                         .record = record};
    return free_links ? free_links->run(input, options.choice)
                      : channel_links->run(input, options.choice);
  }

  RunState run;
  std::optional<FreeLinks> free_links;
  std::optional<ChannelLinks> channel_links;
  std::optional<JitterTable> jitter;
};

Simulator::Simulator(const cost::Problem& problem) : state_(std::make_unique<State>(problem)) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;

const cost::Problem& Simulator::problem() const {
  return state_->run.problem;
}

double Simulator::makespan(const schedule::Placement& placement, double cutoff) {
  return state_->simulate(placement, {}, cutoff, nullptr);
}

double Simulator::makespan(const schedule::Placement& placement, const RunOptions& options,
                           double cutoff) {
  return state_->simulate(placement, options, cutoff, nullptr);
}

schedule::Timeline Simulator::timeline(const schedule::Placement& placement) {
  schedule::Timeline result;
  timeline(placement, {}, result);
  return result;
}

void Simulator::timeline(const schedule::Placement& placement, const RunOptions& options,
                         schedule::Timeline& out) {
  out.mode = schedule::Mode::kWorkConserving;
  out.choice = options.choice;
  out.device = placement.device;
  out.priority = placement.priority;
  out.nodes.resize(placement.device.size());
  out.transfers.clear();
  out.makespan = state_->simulate(placement, options, cost::kInfinity, &out);
}

RunView Simulator::last_run() const {
  return {state_->run.nodes, state_->run.starts};
}

}  // namespace doppler::sim
