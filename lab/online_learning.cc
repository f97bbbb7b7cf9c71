#include "lab/online_learning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "doppler/base/rng.h"
#include "doppler/base/stop.h"
#include "doppler/cost/calibration.h"
#include "doppler/exec/machine.h"
#include "doppler/place/registry.h"
#include "doppler/place/search/annealing.h"
#include "doppler/place/search/neighborhood.h"
#include "doppler/schedule/measurer.h"
#include "doppler/sim/simulator.h"
#include "doppler/train/online/service.h"

namespace doppler::lab {

namespace {

// Returns the machine's differences from the tables as far as cost tables can express them: without
// contention and jitter.
cost::Corrections corrections_of(const cost::Problem& problem, const exec::MachineSkew& skew) {
  const std::size_t devices = problem.device_count();
  const auto factor = [](const auto& factors, const std::string& name) {
    const auto found = factors.find(name);
    return found == factors.end() ? 1.0 : found->second;
  };
  const auto name_of = [&](std::size_t device) {
    return problem.topology().device(DeviceId::of(device)).name;
  };
  cost::Corrections corrections;
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    const auto kind = problem.graph().op_kinds()[problem.graph().op_kind_index(NodeId::of(v))];
    for (std::size_t d = 0; d < devices; ++d) {
      corrections.node.push_back(factor(skew.op_factors, std::string(kind)) *
                                 factor(skew.device_factors, name_of(d)));
    }
  }
  for (std::size_t from = 0; from < devices; ++from) {
    for (std::size_t to = 0; to < devices; ++to) {
      corrections.transfer.push_back(
          factor(skew.link_factors, fmt::format("{}>{}", name_of(from), name_of(to))));
    }
  }
  return corrections;
}

}  // namespace

exec::MachineSkew draw_skew(const cost::Problem& problem, const PerturbedMachine& machine,
                            std::uint64_t seed) {
  Rng rng = Rng::stream(seed, 0x68696464656e);  // a stream of its own
  exec::MachineSkew skew{.contention = machine.contention, .jitter = machine.jitter};
  for (const auto& kind : problem.graph().op_kinds()) {
    skew.op_factors[std::string(kind)] = std::exp(machine.op_spread * rng.normal());
  }
  const std::size_t devices = problem.device_count();
  const auto name_of = [&](std::size_t device) {
    return problem.topology().device(DeviceId::of(device)).name;
  };
  for (std::size_t d = 0; d < devices; ++d) {
    skew.device_factors[name_of(d)] = std::exp(machine.device_spread * rng.normal());
  }
  if (devices > 1 && machine.slow_link != 1.0) {
    const auto a = rng.below(static_cast<std::uint32_t>(devices));
    const auto b = (a + 1 + rng.below(static_cast<std::uint32_t>(devices - 1))) % devices;
    skew.link_factors[fmt::format("{}>{}", name_of(a), name_of(b))] = machine.slow_link;
    skew.link_factors[fmt::format("{}>{}", name_of(b), name_of(a))] = machine.slow_link;
  }
  return skew;
}

double true_mean(const std::shared_ptr<const cost::Problem>& problem, const exec::MachineSkew& skew,
                 const schedule::Placement& placement, int runs) {
  exec::VirtualMachine machine(problem, skew, 0x74727565);  // noise of its own
  double sum = 0.0;
  for (int run = 0; run < runs; ++run) {
    sum += machine.measure(placement, static_cast<std::uint64_t>(run)).makespan;
  }
  return sum / runs;
}

schedule::Placement oracle_placement(const std::shared_ptr<const cost::Problem>& problem,
                                     const exec::MachineSkew& skew,
                                     const schedule::Placement& start, std::uint64_t evaluations,
                                     std::uint64_t seed) {
  constexpr int kRounds = 12, kRuns = 8;
  const auto truth = problem->corrected(corrections_of(*problem, skew));
  exec::VirtualMachine machine(problem, skew, seed);
  cost::Calibration calibration(truth);
  // Returns the mean of some runs, with the same noise for all placements.
  const auto mean_of = [&](const schedule::Placement& placement) {
    double sum = 0.0;
    for (std::uint64_t run = 0; run < kRuns; ++run) {
      const schedule::Timeline timeline = machine.measure(placement, run);
      calibration.add(schedule::observations_of(timeline));
      sum += timeline.makespan;
    }
    return sum / kRuns;
  };
  schedule::Placement best = start;
  double best_time = mean_of(start);
  const auto offer = [&](schedule::Placement placement) {
    const double time = mean_of(placement);
    if (time >= best_time) return;
    best_time = time;
    best = std::move(placement);
  };
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const auto known = calibration.problem();
    const place::PlaceRequest request{.seed = mix64(seed + round),
                                      .max_evaluations = evaluations / kRounds};
    std::vector<schedule::Placement> starts{best};
    starts.push_back(place::make_heft()->place(*known, request).placement);
    starts.push_back(place::make_enumerative()->place(*known, request).placement);
    const schedule::Bound none{.name = "none", .value = 0.0};
    offer(place::anneal(*known, request, none, {best}).placement);
    offer(place::anneal(*known, request, none, starts).placement);
  }
  Rng rng(seed);
  for (std::uint64_t i = 0; i < evaluations / (4 * kRuns); ++i) {
    const auto known = calibration.problem();
    sim::Simulator simulator(*known);
    place::Neighborhood neighborhood(*known);
    simulator.makespan(best, sim::RunOptions{});
    neighborhood.look_at(simulator.last_run());
    schedule::Placement next = best;
    if (neighborhood.move(next, rng)) offer(std::move(next));
  }
  return best;
}

namespace {

constexpr std::uint64_t kServedPoints = 10;

std::vector<OnlinePoint> serve_and_learn(const OnlineRequest& request) {
  train::OnlineLearner learner(request.problem, request.first, request.policy,
                               {.seed = request.seed});
  const auto machine = exec::make_machine(request.problem, request.first,
                                          {.backend = std::string(exec::kEmulatedBackend),
                                           .clock = exec::EngineClock::kVirtual,
                                           .skew = request.truth,
                                           .seed = request.seed});
  // At the same runs whatever the seed, so that curves can be averaged.
  const std::uint64_t step = std::max<std::uint64_t>(1, request.runs / kServedPoints);
  std::vector<OnlinePoint> points = {{.runs = 0, .placement = request.first}};
  serve(learner, *machine,
        {.runs = request.runs,
         .beside = false,
         .stop = request.stop,
         .served = [&](const train::ServedRun& run) {
           // The run is reported before it is counted.
           if (run.number == 0 || run.number % step != 0) return;
           points.push_back({.runs = run.number, .placement = *learner.incumbent()});
         }});
  points.push_back({.runs = learner.summary().runs, .placement = *learner.incumbent()});
  return points;
}

}  // namespace

OnlineLearning served_learning() {
  return serve_and_learn;
}

}  // namespace doppler::lab
