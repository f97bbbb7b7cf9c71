#include "doppler/tra/plan_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/cost/kernel_times.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::tra {

namespace {

// Returns the rates and the fixed cost of large kernels on one kind of device.
Machine figures_of(const device::DeviceKind& kind, const cost::ProblemOptions& options) {
  const bool predicted = options.costs != cost::CostSource::kRoofline;
  if (predicted && kind.hardware && kind.memory_bandwidth) {
    const device::KernelFigures& kernels = kind.hardware->kernels;
    const ElementType type =
        cost::product_type(*kind.hardware, options.precision.value_or(ElementType::kF32));
    return {.flops = kernels.product.peak_share * kind.hardware->product_peak(type),
            .memory_bandwidth = kernels.memory_share * *kind.memory_bandwidth,
            .launch_seconds = kernels.launch_seconds + kernels.product.floor_seconds};
  }
  return {
      .flops = kind.peak_flops ? *kind.peak_flops * kind.efficiency("contract").of_large().compute
                               : INFINITY,
      .memory_bandwidth = kind.memory_bandwidth
                              ? *kind.memory_bandwidth * kind.default_efficiency.of_large().memory
                              : INFINITY,
      .launch_seconds = kind.launch_overhead_seconds};
}

}  // namespace

Machine machine_of(const device::Topology& topology, const cost::ProblemOptions& options) {
  Machine machine;
  machine.devices = static_cast<std::int64_t>(topology.device_count());
  if (options.precision) machine.element_bytes = element_bytes(*options.precision);
  double flops = INFINITY, memory = INFINITY, link = INFINITY, launch = 0.0;
  for (const device::DeviceKind& kind : topology.kinds()) {
    const Machine figures = figures_of(kind, options);
    flops = std::min(flops, figures.flops);
    memory = std::min(memory, figures.memory_bandwidth);
    launch = std::max(launch, figures.launch_seconds);
  }
  const bool achieved = options.costs != cost::CostSource::kRoofline;
  std::vector<ChannelId> route;
  for (std::size_t d = 1; d < topology.device_count(); ++d) {
    topology.route(DeviceId(0), DeviceId::of(d), route);
    for (const ChannelId channel : route) {
      const device::Channel made = topology.channel(channel);
      if (achieved && made.achieved) {
        link = std::min(link, made.achieved->bandwidth);
      } else if (made.bandwidth) {
        link = std::min(link, *made.bandwidth);
      }
    }
  }
  if (std::isfinite(flops)) machine.flops = flops;
  if (std::isfinite(memory)) machine.memory_bandwidth = memory;
  if (std::isfinite(link)) machine.link_bandwidth = link;
  if (launch > 0.0) machine.launch_seconds = launch;
  return machine;
}

namespace {

bool is_source(const Expression& e) {
  return e.op == Operator::kInput || e.op == Operator::kFill;
}
bool computes(const Expression& e) {
  return is_source(e) || e.op == Operator::kJoin || e.op == Operator::kTransform;
}

double bytes_of(const RelationType& type, const Machine& machine) {
  return machine.element_bytes * type.elements() * static_cast<double>(type.keys.size());
}

// Returns the number of slices and concatenations that take a dimension from `before` parts to
// `after` parts.
double pieces(std::int64_t before, std::int64_t after) {
  if (before % after == 0 || after % before == 0) return static_cast<double>(after);
  return static_cast<double>(before + 2 * after - std::gcd(before, after));
}

}  // namespace

double product(const Choice& choice) {
  double result = 1.0;
  for (const std::int64_t parts : choice) result *= static_cast<double>(parts);
  return result;
}

PlanCost& PlanCost::operator+=(const PlanCost& other) {
  compute_seconds += other.compute_seconds;
  moved_bytes += other.moved_bytes;
  nodes += other.nodes;
  return *this;
}

double PlanCost::seconds(const Machine& machine) const {
  return compute_seconds +
         moved_bytes / (static_cast<double>(machine.devices) * machine.link_bandwidth);
}

PlanModel::PlanModel(std::span<const Relation> roots, const Machine& machine,
                     std::span<const std::pair<Relation, Relation>> updates)
    : machine_(machine) {
  for (const Relation& relation : in_order(roots)) {
    if (computes(*relation)) add(relation);
  }
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    for (std::size_t o = 0; o < operations_[i].operands.size(); ++o) {
      operations_[operations_[i].operands[o].producer].uses.push_back({i, o});
    }
  }
  for (const auto& [value, parameter] : updates) {
    const std::size_t updated = index_.at(parameter.get());
    operations_[index_.at(value.get())].updates = static_cast<std::ptrdiff_t>(updated);
    const std::size_t update = index_.at(value.get());
    const auto& uses = operations_[updated].uses;
    const auto reads = static_cast<double>(std::count_if(
        uses.begin(), uses.end(), [&](const Use& use) { return use.consumer != update; }));
    for (const Use& use : uses) {
      if (use.consumer == update) continue;
      operations_[use.consumer].operands[use.operand].update_share = 1.0 / reads;
    }
  }
}

void PlanModel::add(const Relation& relation) {
  const Expression& e = *relation;
  Operation operation{.relation = relation};
  const auto place = [&](const Dimension& dimension) {
    int d = find(operation.dimensions, dimension.name);
    if (d < 0) {
      d = static_cast<int>(operation.dimensions.size());
      operation.dimensions.push_back({dimension.name, dimension.size});
      // Dimensions that the program itself has split keep their parts.
      operation.splits.push_back(dimension.parts == 1 && can_split(e.kernel, dimension.name));
    }
    return static_cast<std::size_t>(d);
  };
  for (const Relation& relation_read : e.operands) {
    Operand operand = trace(relation_read);
    for (const Dimension& dimension : relation_read->type.dimensions) {
      operand.here.push_back(place(dimension));
    }
    operation.bytes += operand.bytes;
    operation.operands.push_back(std::move(operand));
  }
  for (const Dimension& dimension : e.type.dimensions) operation.result.push_back(place(dimension));
  for (std::size_t d = 0; d < operation.dimensions.size(); ++d) {
    if (find(e.type.dimensions, operation.dimensions[d].name) < 0) operation.dropped.push_back(d);
  }
  operation.blocks = static_cast<double>(e.type.keys.size());
  operation.result_bytes = bytes_of(e.type, machine_);
  operation.bytes += operation.result_bytes;
  operation.source = is_source(e);
  operation.product = e.op == Operator::kJoin && e.kernel.form == BlockKernel::Form::kContract;
  double points = operation.blocks;
  for (const Dimension& dimension : operation.dimensions) {
    points *= static_cast<double>(dimension.size);
  }
  if (e.kernel.form != BlockKernel::Form::kGather) {
    operation.flops = operation.product ? 2.0 * points : points;
  }
  index_.emplace(&e, operations_.size());
  operations_.push_back(std::move(operation));
}

// Follows an operand through renamings and other operators that compute nothing, to the operation
// that computes it.
PlanModel::Operand PlanModel::trace(const Relation& operand) const {
  std::vector<std::string> wanted = names(operand->type.dimensions);
  const Expression* e = operand.get();
  while (!computes(*e)) {
    for (std::string& name : wanted) {
      for (const auto& [from, to] : e->renaming) {
        if (to == name) {
          name = from;
          break;
        }
      }
    }
    e = e->operands[0].get();
  }
  Operand result{.producer = index_.at(e),
                 .here = {},
                 .there = {},
                 .bytes = bytes_of(operand->type, machine_),
                 .from_source = is_source(*e)};
  for (const std::string& name : wanted) {
    const int d = find(operations_[result.producer].dimensions, name);
    DOPPLER_CHECK(d >= 0);
    result.there.push_back(static_cast<std::size_t>(d));
  }
  return result;
}

PlanCost PlanModel::cost(const Operation& operation, const Choice& mine) const {
  if (operation.source || operation.blocks == 0.0) return {};
  const auto devices = static_cast<double>(machine_.devices);
  const double parts = operation.blocks * product(mine);
  double largest = 1.0 / operation.blocks;  // the largest part's share of the work
  double partial = 1.0;                     // partial results to combine for each block
  for (std::size_t d = 0; d < mine.size(); ++d) {
    const std::int64_t size = operation.dimensions[d].size;
    largest *= static_cast<double>((size + mine[d] - 1) / mine[d]) / static_cast<double>(size);
  }
  for (const std::size_t d : operation.dropped) partial *= static_cast<double>(mine[d]);
  PlanCost cost;
  cost.nodes = parts;
  cost.compute_seconds =
      std::ceil(parts / devices) *
      (machine_.launch_seconds +
       std::max(operation.flops / machine_.flops, operation.bytes / machine_.memory_bandwidth) *
           largest);
  if (partial > 1.0) {
    const double sums = parts / partial;
    cost.nodes += sums;
    cost.moved_bytes = operation.result_bytes * (std::min(partial, devices) - 1.0);
    cost.compute_seconds += std::ceil(sums / devices) *
                            (machine_.launch_seconds + operation.result_bytes * (partial + 1.0) /
                                                           machine_.memory_bandwidth / sums);
  }
  return cost;
}

double PlanModel::copies(const Operand& operand, const Choice& mine) const {
  double blocks = 1.0;
  for (const std::size_t d : operand.here) blocks *= static_cast<double>(mine[d]);
  return std::min(product(mine) / blocks, static_cast<double>(machine_.devices));
}

Movement PlanModel::movement(const Operand& operand, const Choice& mine,
                             const Choice& theirs) const {
  for (std::size_t d = 0; d < operand.here.size(); ++d) {
    if (mine[operand.here[d]] != theirs[operand.there[d]]) return Movement::kShuffle;
  }
  return copies(operand, mine) > 1.0 ? Movement::kBroadcast : Movement::kLocal;
}

PlanCost PlanModel::cost(const Operand& operand, const Choice& mine, const Choice& theirs) const {
  const auto devices = static_cast<double>(machine_.devices);
  PlanCost cost;
  // Dimensions are split anew one after the other. `others` is the number of parts of all other
  // dimensions: those before d are already split as `mine`, those behind it still as `theirs`.
  double others = 1.0;
  for (const std::size_t d : operand.there) others *= static_cast<double>(theirs[d]);
  for (std::size_t d = 0; d < operand.here.size(); ++d) {
    const std::int64_t before = theirs[operand.there[d]], after = mine[operand.here[d]];
    others /= static_cast<double>(before);
    if (before != after) {
      const double nodes = others * pieces(before, after);
      cost.nodes += nodes;
      cost.compute_seconds +=
          std::ceil(nodes / devices) * machine_.launch_seconds +
          2.0 * operand.bytes / machine_.memory_bandwidth / std::min(devices, nodes);
    }
    others *= static_cast<double>(after);
  }
  const double needed = copies(operand, mine);
  if (!operand.from_source) {
    cost.moved_bytes = operand.bytes * (cost.nodes > 0.0 ? needed : needed - 1.0);
  } else if (cost.nodes > 0.0) {  // an input is split anew on one device and sent to the others
    cost.moved_bytes = operand.bytes * (needed - 1.0);
  }
  // The new value of a parameter must be sent wherever the parameter is used.
  cost.moved_bytes += operand.update_share * operand.bytes * (needed - 1.0);
  return cost;
}

}  // namespace doppler::tra
