#include "doppler/cost/conflict.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "doppler/base/units.h"
#include "doppler/cost/problem.h"

namespace doppler::cost {

std::vector<std::size_t> smallest_conflict(std::span<const Demand> demands, std::size_t devices) {
  const auto leaves_none = [&](std::span<const std::size_t> chosen) {
    for (std::size_t d = 0; d < devices; ++d) {
      if (std::none_of(chosen.begin(), chosen.end(),
                       [&](std::size_t i) { return demands[i].excludes[d] != 0; })) {
        return false;
      }
    }
    return true;
  };
  for (std::size_t i = 0; i < demands.size(); ++i) {
    if (const std::size_t one[] = {i}; leaves_none(one)) return {i};
  }
  constexpr std::size_t kMostPairs = 2'000;  // demands among which all pairs are tried
  const std::size_t tried = std::min(demands.size(), kMostPairs);
  for (std::size_t i = 0; i < tried; ++i) {
    for (std::size_t j = i + 1; j < tried; ++j) {
      if (const std::size_t two[] = {i, j}; leaves_none(two)) return {i, j};
    }
  }
  std::vector<std::size_t> chosen;
  std::vector<std::uint8_t> excluded(devices, 0);
  while (!leaves_none(chosen)) {
    std::size_t best = 0, most = 0;
    for (std::size_t i = 0; i < demands.size(); ++i) {
      std::size_t gain = 0;
      for (std::size_t d = 0; d < devices; ++d) gain += demands[i].excludes[d] && !excluded[d];
      if (gain > most) {
        most = gain;
        best = i;
      }
    }
    if (most == 0) return chosen;
    chosen.push_back(best);
    for (std::size_t d = 0; d < devices; ++d) excluded[d] |= demands[best].excludes[d];
  }
  for (std::size_t i = 0; i < chosen.size();) {
    std::vector<std::size_t> fewer = chosen;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (leaves_none(fewer)) {
      chosen = std::move(fewer);
    } else {
      ++i;
    }
  }
  return chosen;
}

std::string conflict_in_words(std::span<const Demand> demands,
                              std::span<const std::size_t> conflict,
                              const std::vector<std::string>& names) {
  constexpr std::size_t kMostNamed = 6;
  std::string text;
  NodeId last;
  for (std::size_t i = 0; i < conflict.size(); ++i) {
    if (i == kMostNamed) return text + fmt::format(" and {} more", conflict.size() - i);
    const Demand& demand = demands[conflict[i]];
    if (i == 0) {
      text = fmt::format("'{}' {}", names[i], demand.words);
    } else if (demand.node == last) {
      text += fmt::format(" and {}", demand.words);
    } else {
      text += fmt::format("{} colocated with '{}', which {}", i == 1 ? " and" : ",", names[i],
                          demand.words);
    }
    last = demand.node;
  }
  return text;
}

namespace {

struct Need {
  std::vector<TensorId> tensors;  // distinct, largest first
  double bytes = 0.0;
};

Need sum_of(const Problem& problem, std::vector<TensorId> tensors) {
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  std::erase_if(tensors, [&](TensorId tensor) { return problem.bytes(tensor) <= 0.0; });
  std::stable_sort(tensors.begin(), tensors.end(),
                   [&](TensorId a, TensorId b) { return problem.bytes(a) > problem.bytes(b); });
  Need need{std::move(tensors)};
  for (const TensorId tensor : need.tensors) need.bytes += problem.bytes(tensor);
  return need;
}

// Keeps only as many tensors, largest first, as it takes to exceed the capacity.
void shrink(const Problem& problem, double capacity, Need& need) {
  double bytes = 0.0;
  std::size_t count = 0;
  while (count < need.tensors.size() && bytes <= capacity) {
    bytes += problem.bytes(need.tensors[count++]);
  }
  need.tensors.resize(count);
  need.bytes = bytes;
}

std::string in_words(const Problem& problem, const Need& need, const std::string& where) {
  constexpr std::size_t kMostNamed = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(kMostNamed, need.tensors.size()); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : ", ", problem.graph().tensor_name(need.tensors[i]));
  }
  if (need.tensors.size() > kMostNamed) names += ", …";
  const bool one = need.tensors.size() == 1;
  return fmt::format("{} ({}) need{} {} {}",
                     one ? "this tensor" : fmt::format("these {} tensors", need.tensors.size()),
                     names, one ? "s" : "", format_bytes(need.bytes), where);
}

// Returns the largest capacity, in bytes, among the devices on which the node is allowed.
double largest_capacity(const Problem& problem, NodeId node) {
  double largest = 0.0;
  for (const DeviceId device : problem.allowed_devices(node)) {
    largest = std::max(largest, problem.capacity_bytes(device));
  }
  return largest;
}

using Devices = std::vector<DeviceId>;

// Returns the sets of devices, other than the set of all, to which nodes are confined by
// constraints or parameters by their home; smallest first.
std::vector<Devices> confining_sets(const Problem& problem, std::span<const TensorId> parameters) {
  constexpr std::size_t kMostSets = 1'000;  // bounds the work for constraints made at random
  std::set<Devices> sets;
  for (const TensorId parameter : parameters) {
    if (problem.home(parameter).valid()) sets.insert(Devices{problem.home(parameter)});
  }
  // Nodes with equal sets share one in memory and mostly have neighbouring ids, so that most are
  // recognised without looking the set up.
  const DeviceId* last = nullptr;
  for (std::size_t v = 0; v < problem.node_count() && sets.size() < kMostSets; ++v) {
    const auto allowed = problem.allowed_devices(NodeId::of(v));
    if (std::exchange(last, allowed.data()) == allowed.data()) continue;
    if (allowed.size() < problem.device_count()) sets.emplace(allowed.begin(), allowed.end());
  }
  std::vector<Devices> sorted(sets.begin(), sets.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Devices& x, const Devices& y) { return x.size() < y.size(); });
  return sorted;
}

std::vector<TensorId> parameters_of(const graph::Graph& graph) {
  std::vector<TensorId> parameters;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    if (graph.role(tensor) == graph::TensorRole::kParameter) parameters.push_back(tensor);
  }
  return parameters;
}

std::string names_of(const Problem& problem, std::span<const DeviceId> devices) {
  constexpr std::size_t kMostNamed = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(kMostNamed, devices.size()); ++i) {
    names += (i == 0 ? "" : ", ") + problem.topology().device(devices[i]).name;
  }
  return names + (devices.size() > kMostNamed ? ", …" : "");
}

// Finds a set of devices that is too small for what it must hold at all times: the parameters that
// are read by nodes which may go nowhere else, and those with their home there.
std::string overfull_devices(const Problem& problem) {
  const graph::Graph& graph = problem.graph();
  const std::vector<TensorId> parameters = parameters_of(graph);
  std::vector<std::uint8_t> inside(problem.device_count());
  const auto confined = [&](NodeId node) {
    const auto allowed = problem.allowed_devices(node);
    return std::all_of(allowed.begin(), allowed.end(),
                       [&](DeviceId device) { return inside[device.index()] != 0; });
  };
  for (const Devices& devices : confining_sets(problem, parameters)) {
    std::fill(inside.begin(), inside.end(), 0);
    double capacity = 0.0;
    for (const DeviceId device : devices) {
      inside[device.index()] = 1;
      capacity += problem.capacity_bytes(device);
    }
    std::vector<TensorId> held;
    for (const TensorId tensor : parameters) {
      const auto readers = graph.consumers(tensor);
      // Other devices hold a parameter that has a home only for a while.
      const bool there = problem.home(tensor).valid()
                             ? inside[problem.home(tensor).index()] != 0
                             : std::any_of(readers.begin(), readers.end(), confined);
      if (there) held.push_back(tensor);
    }
    Need need = sum_of(problem, std::move(held));
    if (need.bytes <= capacity) continue;
    shrink(problem, capacity, need);
    return in_words(
        problem, need,
        fmt::format("on {}, which {} {}", names_of(problem, devices),
                    devices.size() == 1 ? "has" : "together have", format_bytes(capacity)));
  }
  return {};
}

// Finds a unit of which no allowed device can hold the tensors of one node while it runs, or the
// parameters of all its nodes at all times.
std::string overfull_unit(const Problem& problem) {
  const graph::Graph& graph = problem.graph();
  for (std::uint32_t u = 0; u < problem.unit_count(); ++u) {
    const auto unit = problem.unit(u);
    const double capacity = largest_capacity(problem, unit.front());
    std::vector<TensorId> parameters;
    for (const NodeId node : unit) {
      std::vector<TensorId> tensors;
      for (const TensorId tensor : graph.inputs(node)) {
        tensors.push_back(tensor);
        if (graph.role(tensor) == graph::TensorRole::kParameter && !problem.home(tensor).valid()) {
          parameters.push_back(tensor);
        }
      }
      for (const TensorId tensor : graph.outputs(node)) {
        if (!graph.updates(tensor).valid()) tensors.push_back(tensor);
      }
      Need need = sum_of(problem, std::move(tensors));
      if (need.bytes > capacity) {
        shrink(problem, capacity, need);
        return in_words(problem, need,
                        fmt::format("at once for '{}', whose largest device has {}",
                                    graph.node_name(node), format_bytes(capacity)));
      }
    }
    Need need = sum_of(problem, std::move(parameters));
    if (need.bytes > capacity) {
      shrink(problem, capacity, need);
      return in_words(
          problem, need,
          fmt::format("for '{}' and {} nodes colocated with it, whose largest device "
                      "has {}",
                      graph.node_name(unit.front()), unit.size() - 1, format_bytes(capacity)));
    }
  }
  return {};
}

// Reports if all parameters that are read do not fit on all devices together.
std::string overfull_machine(const Problem& problem) {
  std::vector<TensorId> parameters = parameters_of(problem.graph());
  std::erase_if(parameters,
                [&](TensorId tensor) { return problem.graph().consumers(tensor).empty(); });
  double capacity = 0.0;
  for (std::size_t d = 0; d < problem.device_count(); ++d) {
    capacity += problem.capacity_bytes(DeviceId::of(d));
  }
  const Need need = sum_of(problem, std::move(parameters));
  if (need.bytes <= capacity) return {};
  return fmt::format("the {} parameters need {}, and all devices together have {}",
                     need.tensors.size(), format_bytes(need.bytes), format_bytes(capacity));
}

}  // namespace

std::string device_conflict(const Problem& problem, std::uint32_t unit,
                            const graph::Constraints& extra) {
  const graph::Graph& graph = problem.graph();
  const device::Topology& topology = problem.topology();
  const std::size_t devices = problem.device_count();
  std::vector<Demand> demands;
  const auto demand = [&](NodeId node, std::string words, const auto& excludes) {
    Demand& added = demands.emplace_back(Demand{node, std::move(words), {}});
    for (std::size_t d = 0; d < devices; ++d) added.excludes.push_back(excludes(d));
  };
  const auto pinned = [&](NodeId node, std::string words, std::string_view name) {
    const auto device = topology.find_device(name);
    demand(node, std::move(words), [&](std::size_t d) { return device && d != device->index(); });
  };
  for (const auto* constraints : {&graph.constraints(), &extra}) {
    for (const auto& entry : constraints->pins) {
      if (problem.unit_of(entry.node) != unit) continue;
      pinned(entry.node, fmt::format("is pinned to {}", entry.device), entry.device);
    }
  }
  for (const NodeId node : problem.unit(unit)) {
    for (const TensorId tensor : graph.outputs(node)) {
      const TensorId parameter = graph.updates(tensor);
      if (!parameter.valid() || !problem.home(parameter).valid()) continue;
      const std::string& name = topology.device(problem.home(parameter)).name;
      pinned(node, fmt::format("updates '{}', at home on {}", graph.tensor_name(parameter), name),
             name);
    }
    const double* row = problem.compute_row(node);
    if (std::any_of(row, row + problem.column_count(),
                    [](double time) { return time == kInfinity; })) {
      std::string kinds;
      for (std::size_t k = 0; k < problem.column_count(); ++k) {
        if (row[k] == kInfinity) kinds += (kinds.empty() ? "" : ", ") + topology.kinds()[k].name;
      }
      demand(node, "cannot run on " + kinds,
             [&](std::size_t d) { return row[problem.column(DeviceId::of(d))] == kInfinity; });
    }
  }
  for (const auto* constraints : {&graph.constraints(), &extra}) {
    for (const auto& entry : constraints->forbids) {
      if (problem.unit_of(entry.node) != unit) continue;
      const auto device = topology.find_device(entry.device);
      demand(entry.node, fmt::format("is forbidden on {}", entry.device),
             [&](std::size_t d) { return device && d == device->index(); });
    }
  }
  const auto conflict = smallest_conflict(demands, devices);
  std::vector<std::string> names;
  for (const std::size_t i : conflict) names.emplace_back(graph.node_name(demands[i].node));
  return fmt::format("no device of {} is left: {}", topology.name(),
                     conflict_in_words(demands, conflict, names));
}

std::string memory_conflict(const Problem& problem) {
  if (!problem.memory_can_bind()) return {};
  for (const auto check : {overfull_devices, overfull_unit, overfull_machine}) {
    if (std::string found = check(problem); !found.empty()) return found;
  }
  return {};
}

}  // namespace doppler::cost
