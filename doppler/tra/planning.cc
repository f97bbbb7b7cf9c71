#include "doppler/tra/planning.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "doppler/base/error.h"

namespace doppler::tra {
namespace {

constexpr double kBytesPerElement = 4.0;
// Plans in which a parameter's new value is not where the parameter is do not count.
constexpr double kForbiddenSeconds = 1e6;
// Sweeps over all operations; few programs need more than three until nothing changes.
constexpr int kMostSweeps = 8;

using Choice = std::vector<std::int64_t>;  // parts by dimension of an operation

double product(const Choice& choice) {
  double result = 1.0;
  for (const std::int64_t parts : choice) result *= static_cast<double>(parts);
  return result;
}

bool is_source(const Expression& e) {
  return e.op == Operator::kInput || e.op == Operator::kFill;
}
bool computes(const Expression& e) {
  return is_source(e) || e.op == Operator::kJoin || e.op == Operator::kTransform;
}

// An operand as its operation sees it: which operation makes it, under which names.
struct Operand {
  std::size_t producer;
  std::vector<std::size_t> here;   // index of each dimension in the operation's
  std::vector<std::size_t> there;  // in the producer's
  double bytes;
};

// An operation in numbers.
struct Operation {
  Relation relation;
  Dimensions dimensions = {};             // of operands and result together
  std::vector<std::size_t> result = {};   // indices of the result's
  std::vector<std::size_t> dropped = {};  // of those that are summed
  std::vector<Operand> operands = {};
  std::vector<std::size_t> consumers = {};
  std::vector<Choice> choices = {};
  double flops = 0.0, bytes = 0.0, result_bytes = 0.0;
  std::ptrdiff_t updated = -1;  // operation (an input) whose new value this is
};

std::vector<std::int64_t> prime_factors(std::int64_t n) {
  std::vector<std::int64_t> result;
  for (std::int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) result.push_back(p);
  }
  if (n > 1) result.push_back(n);
  return result;
}

}  // namespace

class Planner {
 public:
  Planner(std::span<const Relation> roots, const Machine& machine) : machine_(machine) {
    for (const Relation& relation : in_order(roots)) {
      if (computes(*relation)) add(relation);
    }
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      for (const Operand& operand : operations_[i].operands) {
        auto& consumers = operations_[operand.producer].consumers;
        if (consumers.empty() || consumers.back() != i) consumers.push_back(i);
      }
    }
  }

  void tie(const Relation& value, const Relation& parameter) {
    operations_[index_.at(value.get())].updated =
        static_cast<std::ptrdiff_t>(index_.at(parameter.get()));
    operations_[index_.at(parameter.get())].consumers.push_back(index_.at(value.get()));
  }

  Plan by_name(const Parts& parts) {
    std::vector<Choice> choice = named_choice(parts);
    return finish(std::move(choice));
  }

  Plan best() {
    for (Operation& operation : operations_) operation.choices = choices_of(operation);
    std::set<std::string> names;
    for (const Operation& operation : operations_) {
      for (const Dimension& dimension : operation.dimensions) names.insert(dimension.name);
    }
    std::vector<std::vector<Choice>> starts{greedy({})};
    for (const std::string& name : names) {
      starts.push_back(greedy({{name, machine_.devices}}));
    }
    std::vector<Choice> best;
    double best_seconds = 0.0;
    for (std::vector<Choice>& start : starts) {
      improve(start);
      const double seconds = total(start);
      if (best.empty() || seconds < best_seconds) {
        best = std::move(start);
        best_seconds = seconds;
      }
    }
    return finish(std::move(best));
  }

 private:
  void add(const Relation& relation) {
    const Expression& e = *relation;
    Operation operation{.relation = relation};
    const auto place = [&](const Dimension& dimension) {
      int d = find(operation.dimensions, dimension.name);
      if (d < 0) {
        d = static_cast<int>(operation.dimensions.size());
        operation.dimensions.push_back({dimension.name, dimension.size});
      }
      return static_cast<std::size_t>(d);
    };
    operation.bytes = 0.0;
    for (const Relation& operand : e.operands) operation.operands.push_back(trace(operand));
    for (std::size_t o = 0; o < e.operands.size(); ++o) {
      for (const Dimension& dimension : e.operands[o]->type.dimensions) {
        operation.operands[o].here.push_back(place(dimension));
      }
      operation.bytes += operation.operands[o].bytes;
    }
    for (const Dimension& dimension : e.type.dimensions)
      operation.result.push_back(place(dimension));
    for (std::size_t d = 0; d < operation.dimensions.size(); ++d) {
      if (find(e.type.dimensions, operation.dimensions[d].name) < 0) operation.dropped.push_back(d);
    }
    operation.result_bytes =
        kBytesPerElement * e.type.elements() * static_cast<double>(e.type.keys.size());
    operation.bytes += operation.result_bytes;
    double points = static_cast<double>(e.type.keys.size());
    for (const Dimension& dimension : operation.dimensions) {
      points *= static_cast<double>(dimension.size);
    }
    const bool gathers = e.kernel.form == BlockKernel::Form::kGather;
    operation.flops = e.kernel.form == BlockKernel::Form::kContract ? 2.0 * points
                      : gathers                                     ? 0.0
                                                                    : points;
    if (is_source(e)) operation.flops = operation.bytes = 0.0;
    index_.emplace(&e, operations_.size());
    operations_.push_back(std::move(operation));
  }

  // Finds the operation behind renamings and other operators that compute nothing.
  Operand trace(const Relation& operand) const {
    Operand result{.producer = 0,
                   .here = {},
                   .there = {},
                   .bytes = kBytesPerElement * operand->type.elements() *
                            static_cast<double>(operand->type.keys.size())};
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
    result.producer = index_.at(e);
    for (const std::string& name : wanted) {
      const int d = find(operations_[result.producer].dimensions, name);
      DOPPLER_CHECK(d >= 0);
      result.there.push_back(static_cast<std::size_t>(d));
    }
    return result;
  }

  // Every way to split a product into as many parts as there are devices or, where shapes do not
  // allow that, as many as they do. Other operations may stay in fewer: they are cheap, and what
  // they read and write may have to move for the sake of the split.
  std::vector<Choice> choices_of(const Operation& operation) const {
    const bool is_product = operation.relation->kernel.form == BlockKernel::Form::kContract;
    std::vector<std::int64_t> factors = prime_factors(machine_.devices);
    std::set<Choice> found;
    for (;; factors.pop_back()) {
      Choice choice(operation.dimensions.size(), 1);
      distribute(operation, factors, 0, choice, found);
      if (factors.empty() || (is_product && !found.empty())) return {found.begin(), found.end()};
    }
  }
  void distribute(const Operation& operation, const std::vector<std::int64_t>& factors,
                  std::size_t next, Choice& choice, std::set<Choice>& found) const {
    if (next == factors.size()) {
      found.insert(choice);
      return;
    }
    for (std::size_t d = 0; d < choice.size(); ++d) {
      const Dimension& dimension = operation.dimensions[d];
      if (choice[d] * factors[next] > dimension.size ||
          !can_split(operation.relation->kernel, dimension.name)) {
        continue;
      }
      choice[d] *= factors[next];
      distribute(operation, factors, next + 1, choice, found);
      choice[d] /= factors[next];
    }
  }

  std::vector<Choice> named_choice(const Parts& parts) const {
    std::vector<Choice> result;
    for (const Operation& operation : operations_) {
      Choice choice;
      for (const Dimension& dimension : operation.dimensions) {
        const auto found = parts.find(dimension.name);
        const bool split =
            found != parts.end() && can_split(operation.relation->kernel, dimension.name);
        choice.push_back(split ? std::clamp<std::int64_t>(found->second, 1, dimension.size) : 1);
      }
      result.push_back(std::move(choice));
    }
    return result;
  }

  Movement movement(const Operand& operand, const Choice& mine, const Choice& theirs,
                    double& copies) const {
    double blocks = 1.0;
    bool same = true;
    for (std::size_t d = 0; d < operand.here.size(); ++d) {
      blocks *= static_cast<double>(mine[operand.here[d]]);
      same &= mine[operand.here[d]] == theirs[operand.there[d]];
    }
    copies = std::min(product(mine) / blocks, static_cast<double>(machine_.devices));
    return !same ? Movement::kShuffle : copies > 1.0 ? Movement::kBroadcast : Movement::kLocal;
  }

  // Predicted seconds of one operation, given its parts and those of its producers. Details go to
  // `report` where it is set.
  double seconds(std::size_t i, const Choice& mine, const std::vector<Choice>& all,
                 PlannedOperation* report = nullptr) const {
    const Operation& operation = operations_[i];
    const auto devices = static_cast<double>(machine_.devices);
    double forbidden = 0.0;
    if (operation.updated >= 0) {
      const Choice& parameter = all[static_cast<std::size_t>(operation.updated)];
      for (std::size_t d = 0; d < operation.result.size(); ++d) {
        if (mine[operation.result[d]] != parameter[d]) forbidden = kForbiddenSeconds;
      }
    }
    if (is_source(*operation.relation)) return forbidden;

    const double parts = product(mine);
    const double rounds = std::ceil(parts / devices);
    double compute =
        rounds * (machine_.launch_seconds + std::max(operation.flops / machine_.flops,
                                                     operation.bytes / machine_.memory_bandwidth) /
                                                parts);
    double moved = 0.0;
    for (const Operand& operand : operation.operands) {
      const bool from_source = is_source(*operations_[operand.producer].relation);
      double copies = 1.0;
      const Movement how = movement(operand, mine, all[operand.producer], copies);
      if (report) report->operands.push_back(how);
      if (how == Movement::kShuffle) {  // slices and concatenations, written and read
        compute +=
            machine_.launch_seconds + 2.0 * operand.bytes / machine_.memory_bandwidth / devices;
        if (!from_source) moved += operand.bytes * copies;
      } else if (!from_source) {  // inputs are wherever they are used
        moved += operand.bytes * (copies - 1.0);
      }
    }
    double partial = 1.0;
    for (const std::size_t d : operation.dropped) partial *= static_cast<double>(mine[d]);
    if (partial > 1.0) {
      moved += operation.result_bytes * (std::min(partial, devices) - 1.0);
      compute += machine_.launch_seconds +
                 operation.result_bytes * (partial + 1.0) / machine_.memory_bandwidth / devices;
    }
    if (report) {
      report->compute_seconds = compute;
      report->aggregates = partial > 1.0;
      report->moved_bytes = moved;
    }
    return forbidden + compute + moved / (devices * machine_.link_bandwidth);
  }

  double total(const std::vector<Choice>& all) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < all.size(); ++i) sum += seconds(i, all[i], all);
    return sum;
  }

  // Each operation in turn as suits it best, given what comes before; `preferred` names decide
  // between what costs the same and give inputs their parts.
  std::vector<Choice> greedy(const Parts& preferred) const {
    std::vector<Choice> all = named_choice(preferred);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_source(*operations_[i].relation)) continue;
      const auto& choices = operations_[i].choices;
      if (std::find(choices.begin(), choices.end(), all[i]) != choices.end()) continue;
      double best = -1.0;
      for (const Choice& choice : choices) {
        const double cost = seconds(i, choice, all);
        if (best < 0.0 || cost < best) {
          best = cost;
          all[i] = choice;
        }
      }
    }
    return all;
  }

  // Changes one operation at a time while that helps it and those that use it.
  void improve(std::vector<Choice>& all) const {
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      bool changed = false;
      for (std::size_t i = all.size(); i-- > 0;) changed |= improve_one(i, all);
      for (std::size_t i = 0; i < all.size(); ++i) changed |= improve_one(i, all);
      if (!changed) return;
    }
  }

  bool improve_one(std::size_t i, std::vector<Choice>& all) const {
    const Operation& operation = operations_[i];
    const auto cost = [&] {
      double sum = seconds(i, all[i], all);
      for (const std::size_t consumer : operation.consumers) {
        sum += seconds(consumer, all[consumer], all);
      }
      return sum;
    };
    const Choice before = all[i];
    Choice best = before;
    double least = cost();
    const auto consider = [&](const Choice& choice) {
      all[i] = choice;
      const double now = cost();
      if (now < least * (1.0 - 1e-12)) {
        least = now;
        best = choice;
      }
    };
    if (is_source(*operation.relation)) {
      // As one of those that read it wants it; an input need not be split at all.
      for (const std::size_t consumer : operation.consumers) {
        for (const Operand& operand : operations_[consumer].operands) {
          if (operand.producer != i) continue;
          Choice choice(operation.dimensions.size(), 1);
          for (std::size_t d = 0; d < operand.here.size(); ++d) {
            choice[operand.there[d]] = all[consumer][operand.here[d]];
          }
          consider(choice);
        }
      }
    } else {
      for (const Choice& choice : operation.choices) consider(choice);
    }
    all[i] = best;
    return best != before;
  }

  Plan finish(std::vector<Choice> all) const {
    Plan plan;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Operation& operation = operations_[i];
      PlannedOperation planned{.operation = operation.relation};
      for (std::size_t d = 0; d < all[i].size(); ++d) {
        if (all[i][d] > 1) planned.parts.emplace(operation.dimensions[d].name, all[i][d]);
      }
      plan.seconds_ += seconds(i, all[i], all, &planned);
      plan.parts_.emplace(operation.relation.get(), planned.parts);
      plan.operations_.push_back(std::move(planned));
    }
    return plan;
  }

  Machine machine_;
  std::vector<Operation> operations_;
  std::unordered_map<const Expression*, std::size_t> index_;
};

Machine machine_of(const device::Topology& topology) {
  Machine machine;
  machine.devices = static_cast<std::int64_t>(topology.device_count());
  double flops = INFINITY, memory = INFINITY, link = INFINITY;
  for (const device::DeviceKind& kind : topology.kinds()) {
    const auto found = kind.efficiency_by_op.find("matmul");
    const device::Efficiency& dense =
        found != kind.efficiency_by_op.end() ? found->second : kind.default_efficiency;
    if (kind.peak_flops) flops = std::min(flops, *kind.peak_flops * dense.compute);
    if (kind.memory_bandwidth) {
      memory = std::min(memory, *kind.memory_bandwidth * kind.default_efficiency.memory);
    }
    machine.launch_seconds = std::max(kind.launch_overhead_seconds, 1e-6);
  }
  std::vector<ChannelId> route;
  for (std::size_t d = 1; d < topology.device_count(); ++d) {
    topology.route(DeviceId(0), DeviceId::of(d), route);
    for (const ChannelId channel : route) {
      if (const auto bandwidth = topology.channel(channel).bandwidth) {
        link = std::min(link, *bandwidth);
      }
    }
  }
  if (std::isfinite(flops)) machine.flops = flops;
  if (std::isfinite(memory)) machine.memory_bandwidth = memory;
  if (std::isfinite(link)) machine.link_bandwidth = link;
  return machine;
}

Sharding Plan::sharding() const {
  return [parts = parts_](const Expression& operation, const std::string& dimension) {
    const auto found = parts.find(&operation);
    if (found == parts.end()) return std::int64_t{1};
    const auto split = found->second.find(dimension);
    return split == found->second.end() ? std::int64_t{1} : split->second;
  };
}

Plan plan(std::span<const Relation> roots, const Machine& machine,
          std::span<const std::pair<Relation, Relation>> updates) {
  Planner planner(roots, machine);
  for (const auto& [value, parameter] : updates) planner.tie(value, parameter);
  return planner.best();
}

Plan plan_by_name(std::span<const Relation> roots, const Machine& machine, const Parts& parts) {
  return Planner(roots, machine).by_name(parts);
}

}  // namespace doppler::tra
