#include "doppler/place/feasible.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/cost/conflict.h"
#include "doppler/place/parameter_packing.h"

namespace doppler::place {
namespace {

using schedule::Placement;

// Rounds of moves without progress before giving up on a starting point.
constexpr int kPatience = 20;
// Steps of the walk in the end, in simulated nodes: a second or two of work.
constexpr std::size_t kWalkBudget = 4'000'000;
constexpr std::size_t kMostSteps = 20'000;
// Steps that the walk looks back for what is acceptable.
constexpr std::size_t kLateness = 30;

void move_unit(const cost::Problem& problem, std::uint32_t unit, DeviceId to,
               Placement& placement) {
  for (const NodeId node : problem.unit(unit)) placement.device[node.index()] = to;
}

std::string none_can(const std::string& proof) {
  return "none can: " + proof;
}

class MemoryRepair {
 public:
  MemoryRepair(const cost::Problem& problem, std::uint64_t seed)
      : problem_(problem),
        gauge_(problem),
        rng_(Rng::stream(seed, 0x6d656d6f7279)),
        share_(problem.unit_count(), 0.0),
        room_(problem.device_count()) {}

  Repair run(Placement placement) {
    best_excess_ = gauge_.excess_bytes(placement);
    best_ = std::move(placement);
    const Placement given = best_;
    if (best_excess_ > 0.0) improve_from(best_);
    if (best_excess_ > 0.0) improve_from(in_topological_order(given));
    if (best_excess_ > 0.0) improve_from(spread());
    if (best_excess_ > 0.0) improve_from(packed());
    if (best_excess_ > 0.0) {
      if (const auto packing = pack_parameters(problem_)) improve_from(on(*packing, given));
    }
    if (best_excess_ > 0.0) walk();
    Repair repair;
    repair.excess_bytes = gauge_.excess_bytes(best_);
    if (repair.excess_bytes > 0.0) {
      const std::string proof = packing_conflict(problem_);
      repair.explanation =
          proof.empty() ? "the closest found lacks memory: " + gauge_.explain() : none_can(proof);
      repair.proved = !proof.empty();
    }
    repair.placement = std::move(best_);
    repair.evaluations = gauge_.evaluations();
    return repair;
  }

 private:
  struct Candidate {
    std::uint32_t unit;
    double bytes;  // its share of what the device holds at its peak
  };

  // Keeps the placement just measured where it is the best so far.
  bool keep_if_better(const Placement& placement, double excess) {
    if (excess >= best_excess_) return false;
    best_excess_ = excess;
    best_ = placement;
    return true;
  }

  void improve_from(Placement placement) {
    for (int idle = 0; idle < kPatience; ++idle) {
      const double excess = gauge_.excess_bytes(placement);
      if (keep_if_better(placement, excess)) idle = 0;
      if (excess == 0.0) return;
      relieve(placement);
    }
  }

  // Moves enough off every overfull device at once, judged by the peaks just measured.
  void relieve(Placement& placement) {
    measure_room();
    for (std::size_t d = 0; d < room_.size(); ++d) {
      const DeviceId from = DeviceId::of(d);
      if (room_[d] >= 0.0) continue;
      for (const Candidate& candidate : candidates(from, placement)) {
        if (room_[d] >= 0.0) break;
        const DeviceId to = roomiest(candidate.unit, from);
        if (!to.valid() || room_[to.index()] <= room_[d]) continue;
        move_unit(problem_, candidate.unit, to, placement);
        room_[d] += candidate.bytes;
        room_[to.index()] -= candidate.bytes;
      }
    }
  }

  // Moves a unit off an overfull device, or swaps it for one that is elsewhere, from the best so
  // far, each time simulated, while the budget lasts. What comes of it is kept where it is no worse
  // than what was kept some steps ago (late acceptance, Burke and Bykov 2017): memory that is just
  // enough is often reached only by way of a little less.
  void walk() {
    const std::size_t steps =
        std::clamp<std::size_t>(kWalkBudget / problem_.node_count(), 10, kMostSteps);
    Placement current = best_, changed = best_;
    double excess = best_excess_;
    std::vector<double> late(kLateness, excess);
    std::vector<Candidate> found;
    for (std::size_t step = 0; step < steps && best_excess_ > 0.0; ++step) {
      if (found.empty()) {
        gauge_.excess_bytes(current);
        found = candidates_of_overfull(current);
        if (found.empty()) return;
      }
      const std::uint32_t unit = found[rng_.below(static_cast<std::uint32_t>(found.size()))].unit;
      const DeviceId from = device_of(unit, current);
      const auto devices = problem_.allowed_devices(problem_.unit(unit).front());
      DeviceId to = devices[rng_.below(static_cast<std::uint32_t>(devices.size()))];
      std::uint32_t other = unit;
      if (rng_.chance(0.2)) {
        other = rng_.below(static_cast<std::uint32_t>(problem_.unit_count()));
        to = device_of(other, current);
        if (!problem_.allowed(problem_.unit(unit).front(), to) ||
            !problem_.allowed(problem_.unit(other).front(), from)) {
          continue;
        }
      }
      if (to == from) continue;
      move_unit(problem_, other, from, changed);
      move_unit(problem_, unit, to, changed);
      const double now = gauge_.excess_bytes(changed);
      double& before = late[step % kLateness];
      if (now <= excess || now <= before) {
        move_unit(problem_, other, from, current);
        move_unit(problem_, unit, to, current);
        excess = now;
        keep_if_better(current, excess);
        found.clear();
      } else {
        move_unit(problem_, other, to, changed);
        move_unit(problem_, unit, from, changed);
      }
      before = std::min(before, excess);
    }
  }

  DeviceId device_of(std::uint32_t unit, const Placement& placement) const {
    return placement.device[problem_.unit(unit).front().index()];
  }

  // REQUIRES: the placement was measured last.
  std::vector<Candidate> candidates_of_overfull(const Placement& placement) {
    measure_room();
    std::vector<Candidate> found;
    for (std::size_t d = 0; d < room_.size(); ++d) {
      if (room_[d] >= 0.0) continue;
      const std::vector<Candidate> here = candidates(DeviceId::of(d), placement);
      found.insert(found.end(), here.begin(), here.end());
    }
    return found;
  }

  void measure_room() {
    const auto peak = gauge_.meter().peak_bytes();
    for (std::size_t d = 0; d < room_.size(); ++d) {
      room_[d] = problem_.capacity_bytes(DeviceId::of(d)) - peak[d];
    }
  }

  // Units on the device that hold something there at its peak, the largest first. What several
  // units share counts in equal parts: it leaves when all of them have left. A little noise, so
  // that repeated rounds do not run in circles.
  std::vector<Candidate> candidates(DeviceId device, const Placement& placement) {
    std::vector<Candidate> found;
    std::vector<std::uint32_t> holders;
    for (const TensorId tensor : gauge_.meter().tensors_at_peak(device)) {
      holders.clear();
      const auto add = [&](NodeId node) {
        if (placement.device[node.index()] == device) holders.push_back(problem_.unit_of(node));
      };
      if (const NodeId producer = problem_.graph().producer(tensor); producer.valid())
        add(producer);
      for (const NodeId consumer : problem_.graph().consumers(tensor)) add(consumer);
      std::sort(holders.begin(), holders.end());
      holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
      for (const std::uint32_t unit : holders) {
        if (share_[unit] == 0.0) found.push_back({unit, 0.0});
        share_[unit] += problem_.bytes(tensor) / static_cast<double>(holders.size());
      }
    }
    std::vector<std::pair<double, Candidate>> order;
    for (Candidate& candidate : found) {
      candidate.bytes = std::exchange(share_[candidate.unit], 0.0);
      order.emplace_back(-candidate.bytes * rng_.uniform(0.7, 1.0), candidate);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < order.size(); ++i) found[i] = order[i].second;
    return found;
  }

  DeviceId roomiest(std::uint32_t unit, DeviceId except) const {
    DeviceId best;
    for (const DeviceId device : problem_.allowed_devices(problem_.unit(unit).front())) {
      if (device == except) continue;
      if (!best.valid() || room_[device.index()] > room_[best.index()]) best = device;
    }
    return best;
  }

  // Returns the placement with the packed units moved to where the packing has them.
  Placement on(const std::vector<DeviceId>& packing, Placement placement) const {
    for (std::uint32_t unit = 0; unit < packing.size(); ++unit) {
      if (packing[unit].valid()) move_unit(problem_, unit, packing[unit], placement);
    }
    return in_topological_order(std::move(placement));
  }

  // The same devices, but run in topological order, which frees memory early.
  Placement in_topological_order(Placement placement) const {
    double position = 0.0;
    for (const NodeId node : problem_.graph().topological_order()) {
      placement.priority[node.index()] = -position++;
    }
    return placement;
  }

  // Units in topological order, each to the allowed device that has run least, in topological
  // order: what is in use at any time is spread over all devices.
  Placement spread() const {
    std::vector<double> load(problem_.device_count(), 0.0);
    Placement placement;
    placement.device.resize(problem_.node_count());
    placement.priority.resize(problem_.node_count());
    for (const NodeId first : problem_.graph().topological_order()) {
      if (placement.device[first.index()].valid()) continue;
      const auto unit = problem_.unit(problem_.unit_of(first));
      DeviceId best;
      double least = cost::kInfinity;
      for (const DeviceId device : problem_.allowed_devices(first)) {
        double work = load[device.index()];
        for (const NodeId node : unit) work += problem_.compute_time(node, device);
        if (!best.valid() || work < least) {
          best = device;
          least = work;
        }
      }
      load[best.index()] = least;
      for (const NodeId node : unit) placement.device[node.index()] = best;
    }
    return in_topological_order(std::move(placement));
  }

  // Units in topological order, each device filled up to its share of all bytes before the next:
  // the last resort, since one device after another works. Runs in topological order too.
  Placement packed() const {
    const std::size_t devices = problem_.device_count();
    double all_bytes = 0.0, all_capacity = 0.0;
    for (std::size_t t = 0; t < problem_.tensor_count(); ++t) {
      all_bytes += problem_.bytes(TensorId::of(t));
    }
    std::vector<double> capacity(devices);
    for (std::size_t d = 0; d < devices; ++d) {
      capacity[d] = std::min(problem_.capacity_bytes(DeviceId::of(d)), all_bytes);
      all_capacity += capacity[d];
    }
    std::vector<double> held(devices, 0.0);
    std::vector<DeviceId> tensor_on(problem_.tensor_count());  // where last counted
    Placement placement;
    placement.device.resize(problem_.node_count());
    placement.priority.resize(problem_.node_count());
    std::size_t current = 0;
    double position = 0.0;
    for (const NodeId first : problem_.graph().topological_order()) {
      placement.priority[first.index()] = -position++;
      if (placement.device[first.index()].valid()) continue;
      while (current + 1 < devices &&
             held[current] >= capacity[current] * (all_bytes / all_capacity)) {
        ++current;
      }
      DeviceId to = DeviceId::of(current);
      if (!problem_.allowed(first, to)) {
        const auto allowed = problem_.allowed_devices(first);
        to = *std::min_element(allowed.begin(), allowed.end(), [&](DeviceId a, DeviceId b) {
          return held[a.index()] - capacity[a.index()] < held[b.index()] - capacity[b.index()];
        });
      }
      for (const NodeId node : problem_.unit(problem_.unit_of(first))) {
        placement.device[node.index()] = to;
        const auto hold = [&](TensorId tensor) {
          if (std::exchange(tensor_on[tensor.index()], to) == to) return;
          held[to.index()] += problem_.bytes(tensor);
        };
        for (const TensorId tensor : problem_.graph().inputs(node)) hold(tensor);
        for (const TensorId tensor : problem_.graph().outputs(node)) hold(tensor);
      }
    }
    return placement;
  }

  const cost::Problem& problem_;
  MemoryFit gauge_;
  Rng rng_;
  Placement best_;
  double best_excess_ = 0.0;
  std::vector<double> share_;  // by unit, zero between uses
  std::vector<double> room_;   // by device: capacity minus peak
};

}  // namespace

MemoryFit::MemoryFit(const cost::Problem& problem)
    : problem_(problem), simulator_(problem), meter_(problem) {}

double MemoryFit::excess_bytes(const Placement& placement) {
  ++evaluations_;
  simulator_.timeline(placement, sim::RunOptions{}, timeline_);
  if (!problem_.memory_can_bind()) return 0.0;
  meter_.measure(timeline_);
  return meter_.excess_bytes();
}

std::string MemoryFit::explain() const {
  return problem_.memory_can_bind() ? schedule::explain_excess(problem_, meter_) : std::string();
}

Repair repair_memory(const cost::Problem& problem, Placement placement, std::uint64_t seed) {
  if (!problem.memory_can_bind()) return {.placement = std::move(placement)};
  if (std::string proof = cost::memory_conflict(problem); !proof.empty()) {
    MemoryFit gauge(problem);
    const double excess = gauge.excess_bytes(placement);
    return {std::move(placement), excess, none_can(proof), true, gauge.evaluations()};
  }
  return MemoryRepair(problem, seed).run(std::move(placement));
}

Placement make_feasible(const cost::Problem& problem, Placement placement, std::uint64_t seed) {
  Repair repair = repair_memory(problem, std::move(placement), seed);
  if (repair.excess_bytes > 0.0) {
    throw InfeasibleError(
        fmt::format("no placement that fits in memory was found: {}", repair.explanation));
  }
  return std::move(repair.placement);
}

}  // namespace doppler::place
