#include "doppler/study/hidden_machine.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "doppler/base/rng.h"
#include "doppler/cost/corrections.h"
#include "doppler/exec/measurers.h"
#include "doppler/place/methods.h"
#include "doppler/place/search/annealing.h"
#include "doppler/place/search/neighborhood.h"
#include "doppler/sim/simulator.h"

namespace doppler::study {
namespace {

// What cost tables can say of a machine: all but contention and jitter.
cost::Corrections corrections_of(const cost::Problem& problem, const exec::Deviation& deviation) {
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
      corrections.node.push_back(factor(deviation.op_factors, std::string(kind)) *
                                 factor(deviation.device_factors, name_of(d)));
    }
  }
  for (std::size_t from = 0; from < devices; ++from) {
    for (std::size_t to = 0; to < devices; ++to) {
      corrections.transfer.push_back(
          factor(deviation.link_factors, fmt::format("{}>{}", name_of(from), name_of(to))));
    }
  }
  return corrections;
}

}  // namespace

exec::Deviation hidden_deviation(const cost::Problem& problem, const HiddenMachine& machine,
                                 std::uint64_t seed) {
  Rng rng = Rng::stream(seed, 0x68696464656e);  // a stream of its own
  exec::Deviation deviation{.contention = machine.contention, .jitter = machine.jitter};
  for (const auto& kind : problem.graph().op_kinds()) {
    deviation.op_factors[std::string(kind)] = std::exp(machine.op_spread * rng.normal());
  }
  const std::size_t devices = problem.device_count();
  const auto name_of = [&](std::size_t device) {
    return problem.topology().device(DeviceId::of(device)).name;
  };
  for (std::size_t d = 0; d < devices; ++d) {
    deviation.device_factors[name_of(d)] = std::exp(machine.device_spread * rng.normal());
  }
  if (devices > 1 && machine.slow_link != 1.0) {
    const auto a = rng.below(static_cast<std::uint32_t>(devices));
    const auto b = (a + 1 + rng.below(static_cast<std::uint32_t>(devices - 1))) % devices;
    deviation.link_factors[fmt::format("{}>{}", name_of(a), name_of(b))] = machine.slow_link;
    deviation.link_factors[fmt::format("{}>{}", name_of(b), name_of(a))] = machine.slow_link;
  }
  return deviation;
}

double true_mean(const std::shared_ptr<const cost::Problem>& problem,
                 const exec::Deviation& deviation, const schedule::Placement& placement, int runs) {
  exec::VirtualMachine machine(problem, deviation, 0x74727565);  // noise of its own
  double sum = 0.0;
  for (int run = 0; run < runs; ++run) {
    sum += machine.measure(placement, static_cast<std::uint64_t>(run)).makespan;
  }
  return sum / runs;
}

schedule::Placement oracle_placement(const std::shared_ptr<const cost::Problem>& problem,
                                     const exec::Deviation& deviation,
                                     const schedule::Placement& start, std::uint64_t evaluations,
                                     std::uint64_t seed) {
  const auto truth = problem->corrected(corrections_of(*problem, deviation));
  place::PlaceRequest request{.seed = seed, .max_evaluations = evaluations};
  std::vector<schedule::Placement> starts{start};
  for (const auto& method : {place::make_heft(), place::make_enumerative()}) {
    starts.push_back(method->place(*truth, request).placement);
  }
  schedule::Placement best =
      place::anneal(*truth, request, {.name = "none", .value = 0.0}, starts).placement;

  exec::Deviation steady = deviation;
  steady.jitter = 0.0;
  exec::VirtualMachine machine(problem, steady, seed);
  double best_time = machine.measure(best, 0).makespan;
  if (const double time = machine.measure(start, 0).makespan; time < best_time) {
    best = start;
    best_time = time;
  }
  sim::Simulator simulator(*truth);
  place::Neighborhood neighborhood(*truth);
  Rng rng(seed);
  for (std::uint64_t i = 0; i < evaluations / 8; ++i) {
    if (i % 64 == 0) {
      simulator.makespan(best, sim::RunOptions{});
      neighborhood.look_at(simulator.last_run());
    }
    schedule::Placement next = best;
    if (!neighborhood.move(next, rng)) continue;
    if (const double time = machine.measure(next, 0).makespan; time <= best_time) {
      best_time = time;
      best = std::move(next);
    }
  }
  return best;
}

}  // namespace doppler::study
