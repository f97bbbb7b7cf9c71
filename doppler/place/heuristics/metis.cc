// `metis`: minimum cut with balanced load. METIS's k-way partitioning of the undirected graph:
// vertices are units weighted by mean compute time, edges are tensors weighted by mean transfer
// time, part sizes follow the speed of the devices. Part i becomes the i-th device; units that may
// not run there go to the allowed device that holds most of their data. Where METIS would stumble
// over parts that get nothing (heavy units, devices of very different speed), it is asked for
// halves, and for halves of those. Priorities: b-levels.
#include <fmt/format.h>
#include <metis.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <span>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/place/cost_estimates.h"
#include "doppler/place/feasible.h"
#include "doppler/place/registry.h"

namespace doppler::place {
namespace {

// METIS adds weights up in 32-bit integers, so each kind of weight is scaled to add up to this.
constexpr double kTotalWeight = 5e8;

// The undirected graph of units in METIS's form, parallel edges merged.
struct UnitGraph {
  std::vector<idx_t> offsets, neighbours, edge_weights, vertex_weights;

  std::size_t size() const { return vertex_weights.size(); }
};

UnitGraph build_unit_graph(const cost::Problem& problem, const MeanCosts& mean) {
  UnitGraph graph;
  const std::size_t units = problem.unit_count();
  std::vector<double> work(units, 0.0);
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    work[problem.unit_of(NodeId::of(v))] += mean.compute(NodeId::of(v));
  }
  const double all_work = std::accumulate(work.begin(), work.end(), 0.0);
  for (const double w : work) {
    const double share = all_work > 0.0 ? w / all_work : 1.0 / static_cast<double>(units);
    graph.vertex_weights.push_back(static_cast<idx_t>(std::max(1.0, share * kTotalWeight)));
  }

  struct Arc {
    std::uint32_t from, to;
    double cost;
  };
  std::vector<Arc> arcs;  // both directions
  double all_cost = 0.0;
  for (const cost::Problem::Edge& edge : problem.edges()) {
    const NodeId producer = problem.graph().producer(edge.tensor);
    if (!producer.valid()) continue;  // comes from a home, which is no unit
    const std::uint32_t a = problem.unit_of(producer), b = problem.unit_of(edge.consumer);
    if (a == b) continue;
    const double cost = mean.transfer(edge);
    arcs.push_back({a, b, cost});
    arcs.push_back({b, a, cost});
    all_cost += 2.0 * cost;
  }
  std::stable_sort(arcs.begin(), arcs.end(), [](const Arc& a, const Arc& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  graph.offsets.assign(units + 1, 0);
  for (std::size_t i = 0; i < arcs.size();) {
    const Arc first = arcs[i];
    double cost = 0.0;
    for (; i < arcs.size() && arcs[i].from == first.from && arcs[i].to == first.to; ++i) {
      cost += arcs[i].cost;
    }
    graph.neighbours.push_back(static_cast<idx_t>(first.to));
    const double share = all_cost > 0.0 ? cost / all_cost : 0.0;
    graph.edge_weights.push_back(static_cast<idx_t>(std::max(1.0, share * kTotalWeight)));
    ++graph.offsets[first.from + 1];
  }
  for (std::size_t u = 0; u < units; ++u) graph.offsets[u + 1] += graph.offsets[u];
  return graph;
}

double sum(std::span<const double> shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0);
}

// METIS starts a k-way partition by splitting the parts in halves, those in halves and so on. A
// half of several parts that gets no vertex makes it write a warning to standard output, which a
// library must not. That happens where one vertex is too heavy for the halves to come out as they
// should, or where a half is so small that the tolerance of METIS (a twentieth of what is split)
// can swallow it. In some 200,000 random graphs of 2 to 64 parts the lightest vertex that did it
// weighed 0.85 of its half, and the largest half that was swallowed was 0.066 of the whole; these
// limits keep clear of both.
constexpr double kHeaviestInHalf = 0.75;
constexpr double kSmallestHalf = 0.1;

// Returns whether METIS can be asked for all these parts at once: what it splits again will not be
// empty. `heaviest` is the weight of the heaviest vertex, in the unit of the shares.
bool halves_are_filled(std::span<const double> shares, double heaviest) {
  if (shares.size() < 3) return true;  // halves of one part each
  const auto left = shares.first(shares.size() / 2), right = shares.subspan(left.size());
  for (const auto half : {left, right}) {
    if (half.size() < 2) continue;
    const double target = sum(half);
    if (heaviest > kHeaviestInHalf * target || target < kSmallestHalf * sum(shares)) return false;
    if (!halves_are_filled(half, heaviest)) return false;
  }
  return true;
}

// One call of METIS: a part in [0, shares.size()) for every unit.
// REQUIRES: two shares or more, positive, that sum up to 1.
std::vector<idx_t> run_metis(UnitGraph graph, std::span<const double> shares, std::uint64_t seed) {
  std::vector<idx_t> part(graph.size(), 0);
  // METIS misbehaves where a part would get no vertex at all. A few weightless strangers per part
  // make that rare.
  const std::size_t units = graph.size();
  if (units < 32 * shares.size()) {
    for (std::size_t i = 0; i < 8 * shares.size(); ++i) {
      graph.vertex_weights.push_back(1);
      graph.offsets.push_back(graph.offsets.back());
    }
    part.resize(graph.size());
  }
  std::vector<real_t> targets(shares.begin(), shares.end());
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = static_cast<idx_t>(mix64(seed) >> 33);
  idx_t vertices = static_cast<idx_t>(graph.size()), constraints = 1;
  idx_t parts = static_cast<idx_t>(shares.size()), cut = 0;
  graph.neighbours.reserve(1);  // METIS refuses null pointers even where there are no edges
  graph.edge_weights.reserve(1);
  int status;
  {
    // METIS 5.1 seeds and draws from the C library's process-wide generator.
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    status =
        METIS_PartGraphKway(&vertices, &constraints, graph.offsets.data(), graph.neighbours.data(),
                            graph.vertex_weights.data(), nullptr, graph.edge_weights.data(), &parts,
                            targets.data(), nullptr, options, &cut, part.data());
  }
  if (status != METIS_OK) {
    throw SystemError(fmt::format("METIS could not partition {} units into {} parts (status {}){}",
                                  units, parts, status,
                                  status == METIS_ERROR_MEMORY ? ": out of memory" : ""));
  }
  part.resize(units);
  return part;
}

// The units of one part, and what connects them.
UnitGraph part_of_graph(const UnitGraph& graph, std::span<const idx_t> part, idx_t wanted) {
  std::vector<idx_t> position(graph.size());
  idx_t count = 0;
  for (std::size_t u = 0; u < graph.size(); ++u) {
    if (part[u] == wanted) position[u] = count++;
  }
  UnitGraph result;
  result.offsets.push_back(0);
  for (std::size_t u = 0; u < graph.size(); ++u) {
    if (part[u] != wanted) continue;
    result.vertex_weights.push_back(graph.vertex_weights[u]);
    for (idx_t i = graph.offsets[u]; i < graph.offsets[u + 1]; ++i) {
      const auto other = static_cast<std::size_t>(graph.neighbours[i]);
      if (part[other] != wanted) continue;
      result.neighbours.push_back(position[other]);
      result.edge_weights.push_back(graph.edge_weights[i]);
    }
    result.offsets.push_back(static_cast<idx_t>(result.neighbours.size()));
  }
  return result;
}

// A part in [0, shares.size()) for every unit. REQUIRES: the shares are positive and sum up to 1.
std::vector<idx_t> partition(const UnitGraph& graph, std::span<const double> shares,
                             std::uint64_t seed) {
  if (shares.size() < 2 || graph.size() == 0) return std::vector<idx_t>(graph.size(), 0);
  if (graph.size() == 1) {
    return {static_cast<idx_t>(std::max_element(shares.begin(), shares.end()) - shares.begin())};
  }
  const auto& weights = graph.vertex_weights;
  const double heaviest = *std::max_element(weights.begin(), weights.end()) /
                          std::accumulate(weights.begin(), weights.end(), 0.0);
  if (halves_are_filled(shares, heaviest)) return run_metis(graph, shares, seed);

  // In halves, as METIS would, but each by a call of its own: one that gets nothing does no harm.
  const std::size_t middle = shares.size() / 2;
  const double left = sum(shares.first(middle)), right = sum(shares.subspan(middle));
  const std::vector<idx_t> half =
      run_metis(graph, std::vector{left / (left + right), right / (left + right)}, seed);
  std::vector<idx_t> part(graph.size());
  for (const idx_t side : {0, 1}) {
    std::vector<double> targets(side == 0 ? shares.begin() : shares.begin() + middle,
                                side == 0 ? shares.begin() + middle : shares.end());
    for (double& target : targets) target /= side == 0 ? left : right;
    const auto inner = partition(part_of_graph(graph, half, side), targets, seed);
    const idx_t first = side == 0 ? 0 : static_cast<idx_t>(middle);
    auto next = inner.begin();
    for (std::size_t u = 0; u < part.size(); ++u) {
      if (half[u] == side) part[u] = first + *next++;
    }
  }
  return part;
}

class Metis final : public Placer {
 public:
  std::string_view name() const override { return "metis"; }
  std::string_view summary() const override { return "minimum cut with balanced load (METIS)"; }

  PlaceResult place(const cost::Problem& problem, const PlaceRequest& request) const override {
    const MeanCosts mean(problem);
    const UnitGraph graph = build_unit_graph(problem, mean);
    // The fastest devices, no more of them than there are units.
    std::vector<double> shares = speed_shares(problem, mean);
    std::vector<DeviceId> devices;
    for (std::size_t d = 0; d < shares.size(); ++d) {
      if (shares[d] > 0.0) devices.push_back(DeviceId::of(d));
    }
    if (devices.size() > problem.unit_count()) {
      std::stable_sort(devices.begin(), devices.end(), [&](DeviceId a, DeviceId b) {
        return shares[a.index()] > shares[b.index()];
      });
      devices.resize(problem.unit_count());
    }
    std::vector<double> targets;
    for (const DeviceId device : devices) targets.push_back(shares[device.index()]);
    const double sum = std::accumulate(targets.begin(), targets.end(), 0.0);
    for (double& target : targets) target /= sum;

    const std::vector<idx_t> part = partition(graph, targets, request.seed);
    std::vector<DeviceId> unit_device(problem.unit_count());
    for (std::uint32_t u = 0; u < unit_device.size(); ++u) {
      const DeviceId device = devices[static_cast<std::size_t>(part[u])];
      if (problem.allowed(problem.unit(u).front(), device)) unit_device[u] = device;
    }
    settle_others(problem, graph, unit_device);

    std::vector<DeviceId> device(problem.node_count());
    for (std::size_t v = 0; v < device.size(); ++v) {
      device[v] = unit_device[problem.unit_of(NodeId::of(v))];
    }
    PlaceResult result;
    result.placement =
        make_feasible(problem, schedule::with_b_levels(problem, std::move(device)), request.seed);
    return result;
  }

 private:
  // Units without a device go where most of what they exchange is, the least loaded among equals.
  static void settle_others(const cost::Problem& problem, const UnitGraph& graph,
                            std::vector<DeviceId>& unit_device) {
    std::vector<double> load(problem.device_count(), 0.0), near(problem.device_count(), 0.0);
    for (std::size_t u = 0; u < unit_device.size(); ++u) {
      if (unit_device[u].valid()) load[unit_device[u].index()] += graph.vertex_weights[u];
    }
    for (std::uint32_t u = 0; u < unit_device.size(); ++u) {
      if (unit_device[u].valid()) continue;
      const auto weigh = [&](double sign) {
        for (idx_t i = graph.offsets[u]; i < graph.offsets[u + 1]; ++i) {
          const DeviceId there = unit_device[static_cast<std::size_t>(graph.neighbours[i])];
          if (there.valid()) near[there.index()] += sign * graph.edge_weights[i];
        }
      };
      weigh(1.0);
      const auto allowed = problem.allowed_devices(problem.unit(u).front());
      const DeviceId best =
          *std::min_element(allowed.begin(), allowed.end(), [&](DeviceId a, DeviceId b) {
            return std::pair(-near[a.index()], load[a.index()]) <
                   std::pair(-near[b.index()], load[b.index()]);
          });
      weigh(-1.0);  // integers, so this restores exact zeros
      unit_device[u] = best;
      load[best.index()] += graph.vertex_weights[u];
    }
  }
};

}  // namespace

std::unique_ptr<Placer> make_metis() {
  return std::make_unique<Metis>();
}

}  // namespace doppler::place
