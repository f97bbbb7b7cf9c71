#include "doppler/tra/planning.h"

#include <algorithm>
#include <cmath>

#include "doppler/base/error.h"

namespace doppler::tra {
namespace {

using Operation = PlanModel::Operation;
using Operand = PlanModel::Operand;

// The largest number of sweeps over all operations. Few programs need more than three until nothing
// changes.
constexpr int kMostSweeps = 8;
// The largest number of ways to split one operation. It is limited because tables of movements have
// an entry for each pair of ways.
constexpr std::size_t kMostChoices = 400;

// Returns, by operation, the choice that splits each dimension as `parts` says for its name.
std::vector<Choice> named_choices(const PlanModel& model, const Parts& parts) {
  std::vector<Choice> result;
  for (const Operation& operation : model.operations()) {
    Choice choice;
    for (std::size_t d = 0; d < operation.dimensions.size(); ++d) {
      const auto found = parts.find(operation.dimensions[d].name);
      choice.push_back(
          found != parts.end() && operation.splits[d]
              ? std::clamp<std::int64_t>(found->second, 1, operation.dimensions[d].size)
              : 1);
    }
    result.push_back(std::move(choice));
  }
  return result;
}

// A search for the choices, one for each operation, that cost the least in total.
//
// Every operation has a list of choices. Tables hold the cost of each choice, and the cost of
// moving an operand for each pair of choices of an operation and its producer. Operations that look
// the same share their lists and tables, since the layers of a model repeat each other.
class PlanOptimizer {
 public:
  explicit PlanOptimizer(const PlanModel& model) : model_(model), parts_(model.machine().devices) {
    for (const Operation& operation : model.operations()) {
      list_.push_back(list_for(operation));
      own_.push_back(own_table(operation, list_.back()));
      moves_.emplace_back();
      for (const Operand& operand : operation.operands) {
        moves_.back().push_back(move_table(operand, list_.back(), list_[operand.producer]));
      }
    }
    tied_.assign(list_.size(), -1);
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (const std::ptrdiff_t parameter = model.operations()[i].updates; parameter >= 0) {
        tied_[static_cast<std::size_t>(parameter)] = static_cast<std::ptrdiff_t>(i);
      }
    }
  }

  // Returns the best choices that are found by improving several starts: that of programmed(), and
  // one for each of `named`.
  std::vector<Choice> best(std::span<const Parts> named) {
    std::vector<std::vector<std::size_t>> starts{programmed()};
    for (const Parts& parts : named) starts.push_back(greedy(parts));
    std::vector<std::size_t> best;
    double least = 0.0;
    for (std::vector<std::size_t>& start : starts) {
      improve(start);
      const double seconds = total(start);
      if (!best.empty() && seconds >= least) continue;
      least = seconds;
      best = std::move(start);
    }
    std::vector<Choice> result;
    for (std::size_t i = 0; i < best.size(); ++i) result.push_back(choices(i)[best[i]]);
    return result;
  }

 private:
  using Key = std::vector<double>;

  const std::vector<Choice>& choices(std::size_t i) const { return lists_[list_[i]]; }

  // Returns the index of the operation's list in lists_. Products are split into as many parts as
  // there are devices, as far as their shapes allow it. Other operations may have fewer parts,
  // since they are cheap and a split can force their operands and results to move.
  std::size_t list_for(const Operation& operation) {
    const bool all = !operation.product;
    Key key{all ? 1.0 : 0.0, all ? 0.0 : operation.blocks};
    for (std::size_t d = 0; d < operation.dimensions.size(); ++d) {
      key.push_back(operation.splits[d] ? static_cast<double>(operation.dimensions[d].size) : 1.0);
    }
    const auto [at, fresh] = list_index_.emplace(std::move(key), lists_.size());
    if (fresh) lists_.push_back(choices_for(operation));
    return at->second;
  }
  std::vector<Choice> choices_for(const Operation& operation) const {
    std::vector<Choice> found;
    // If there are too many ways, only those that split at most 3, 2 or 1 dimensions are taken.
    for (const std::size_t most_split :
         {operation.dimensions.size(), std::size_t{3}, std::size_t{2}, std::size_t{1}}) {
      found.clear();
      operation.product ? add_product_choices(operation, most_split, found)
                        : add_all_choices(operation, most_split, found);
      if (found.size() <= kMostChoices) break;
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
  // Adds the ways to split a product into one part for each device. If the shape does not allow
  // that number, the next larger number that it allows is taken, up to twice as many. If it allows
  // none, prime factors of the number are left out until it does.
  void add_product_choices(const Operation& operation, std::size_t most_split,
                           std::vector<Choice>& found) const {
    double most = operation.blocks;
    for (std::size_t d = 0; d < operation.dimensions.size(); ++d) {
      if (operation.splits[d]) most *= static_cast<double>(operation.dimensions[d].size);
    }
    // A program with keys has split the work already, into `blocks` parts.
    const auto wanted = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(parts_) / std::max(operation.blocks, 1.0)));
    const std::int64_t last = most >= static_cast<double>(parts_) ? 2 * wanted : wanted;
    for (std::int64_t parts = wanted; parts <= last && found.empty(); ++parts) {
      distribute(operation, prime_factors(parts), most_split, found);
    }
    for (std::vector<std::int64_t> factors = prime_factors(wanted); found.empty();
         factors.pop_back()) {
      distribute(operation, factors, most_split, found);
    }
  }
  // Adds the ways to split an operation into any number of parts that divides the number of
  // devices.
  void add_all_choices(const Operation& operation, std::size_t most_split,
                       std::vector<Choice>& found) const {
    for (std::int64_t parts = 1; parts <= parts_; ++parts) {
      if (parts_ % parts == 0) distribute(operation, prime_factors(parts), most_split, found);
    }
  }
  // Adds every way to split dimensions by these factors, with at most `most_split` dimensions
  // split. Equal factors are given to dimensions in rising order, so that no way is found twice.
  static void distribute(const Operation& operation, const std::vector<std::int64_t>& factors,
                         std::size_t most_split, std::vector<Choice>& found) {
    Choice choice(operation.dimensions.size(), 1);
    distribute_from(operation, factors, 0, 0, most_split, choice, found);
  }
  static void distribute_from(const Operation& operation, const std::vector<std::int64_t>& factors,
                              std::size_t next, std::size_t from, std::size_t may_split,
                              Choice& choice, std::vector<Choice>& found) {
    if (found.size() > kMostChoices) return;
    if (next == factors.size()) {
      found.push_back(choice);
      return;
    }
    const bool repeats = next > 0 && factors[next] == factors[next - 1];
    for (std::size_t d = repeats ? from : 0; d < choice.size(); ++d) {
      const bool fresh = choice[d] == 1;
      if (!operation.splits[d] || (fresh && may_split == 0) ||
          choice[d] * factors[next] > operation.dimensions[d].size) {
        continue;
      }
      choice[d] *= factors[next];
      distribute_from(operation, factors, next + 1, d, may_split - (fresh ? 1 : 0), choice, found);
      choice[d] /= factors[next];
    }
  }

  // Returns the index of the table with the cost of each choice of the operation itself.
  std::size_t own_table(const Operation& operation, std::size_t list) {
    Key key{static_cast<double>(list), operation.source ? 1.0 : 0.0,
            operation.blocks,          operation.flops,
            operation.bytes,           operation.result_bytes};
    for (const std::size_t d : operation.dropped) key.push_back(static_cast<double>(d));
    for (const Dimension& dimension : operation.dimensions) {
      key.push_back(static_cast<double>(dimension.size));
    }
    const auto [at, fresh] = table_index_.emplace(std::move(key), tables_.size());
    if (fresh) {
      std::vector<double>& table = tables_.emplace_back();
      for (const Choice& choice : lists_[list]) {
        table.push_back(model_.cost(operation, choice).seconds(model_.machine()));
      }
    }
    return at->second;
  }

  // Returns the index of the table with the cost of moving an operand. It has a row for each choice
  // of the operation and a column for each choice of the producer.
  std::size_t move_table(const Operand& operand, std::size_t mine, std::size_t theirs) {
    Key key{static_cast<double>(mine), static_cast<double>(theirs), operand.bytes,
            operand.update_share, operand.from_source ? -1.0 : -2.0};  // unlike any index
    for (const std::size_t d : operand.here) key.push_back(static_cast<double>(d));
    for (const std::size_t d : operand.there) key.push_back(static_cast<double>(d));
    const auto [at, fresh] = table_index_.emplace(std::move(key), tables_.size());
    if (fresh) {
      std::vector<double>& table = tables_.emplace_back();
      for (const Choice& choice : lists_[mine]) {
        for (const Choice& other : lists_[theirs]) {
          table.push_back(model_.cost(operand, choice, other).seconds(model_.machine()));
        }
      }
    }
    return at->second;
  }
  // Returns the cost of moving an operand of operation i for one choice of each side.
  double move(std::size_t i, std::size_t operand, std::size_t mine, std::size_t theirs) const {
    const std::size_t producer = model_.operations()[i].operands[operand].producer;
    return tables_[moves_[i][operand]][mine * choices(producer).size() + theirs];
  }

  // Returns the choice of a parameter that splits it as the choice `of_update` splits its new
  // value.
  std::size_t tied_choice(std::size_t parameter, std::size_t of_update) const {
    const auto update = static_cast<std::size_t>(tied_[parameter]);
    Choice wanted;
    for (const std::size_t d : model_.operations()[update].result) {
      wanted.push_back(choices(update)[of_update][d]);
    }
    const auto& list = choices(parameter);
    const auto found = std::lower_bound(list.begin(), list.end(), wanted);
    DOPPLER_CHECK(found != list.end() && *found == wanted);
    return static_cast<std::size_t>(found - list.begin());
  }

  // Returns choices found by dynamic programming. The first pass computes, for each choice of an
  // operation, the least cost of everything up to it. An operation that several others read is
  // counted in equal shares with each of them, which is exact only for trees. The second pass goes
  // backwards and takes for each operation the choice that is cheapest for it and its readers.
  std::vector<std::size_t> programmed() const {
    const auto operations = model_.operations();
    std::vector<std::vector<double>> least(operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i) {
      least[i] = tables_[own_[i]];
      for (std::size_t o = 0; o < operations[i].operands.size(); ++o) {
        const std::size_t producer = operations[i].operands[o].producer;
        const double share = 1.0 / static_cast<double>(operations[producer].uses.size());
        for (std::size_t c = 0; c < least[i].size(); ++c) {
          double best = share * least[producer][0] + move(i, o, c, 0);
          for (std::size_t other = 1; other < least[producer].size(); ++other) {
            best = std::min(best, share * least[producer][other] + move(i, o, c, other));
          }
          least[i][c] += best;
        }
      }
    }
    std::vector<std::size_t> all(operations.size(), 0);
    for (std::size_t i = operations.size(); i-- > 0;) {
      if (tied_[i] >= 0) {
        all[i] = tied_choice(i, all[static_cast<std::size_t>(tied_[i])]);
        continue;
      }
      std::vector<double>& cost = least[i];
      add_uses(i, all, cost);
      all[i] = argmin(cost);
    }
    return all;
  }

  // Returns choices that split operations as `parts` says for the names of dimensions. Where that
  // is not among an operation's choices, it takes the cheapest one given the choices of its
  // producers.
  std::vector<std::size_t> greedy(const Parts& parts) const {
    const std::vector<Choice> wanted = named_choices(model_, parts);
    std::vector<std::size_t> all(wanted.size(), 0);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& list = choices(i);
      const auto found = std::lower_bound(list.begin(), list.end(), wanted[i]);
      if (found != list.end() && *found == wanted[i]) {
        all[i] = static_cast<std::size_t>(found - list.begin());
      } else {
        all[i] = argmin(costs(i, all, false));
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (tied_[i] >= 0) all[i] = tied_choice(i, all[static_cast<std::size_t>(tied_[i])]);
    }
    return all;
  }

  // Returns the cost of each choice of operation i, given the choices of its producers and, if
  // `with_uses`, of its readers.
  std::vector<double> costs(std::size_t i, const std::vector<std::size_t>& all,
                            bool with_uses) const {
    const Operation& operation = model_.operations()[i];
    std::vector<double> result = tables_[own_[i]];
    for (std::size_t o = 0; o < operation.operands.size(); ++o) {
      const std::size_t theirs = all[operation.operands[o].producer];
      for (std::size_t c = 0; c < result.size(); ++c) result[c] += move(i, o, c, theirs);
    }
    if (with_uses) add_uses(i, all, result);
    return result;
  }
  // Adds the cost of moving the result of operation i to its readers.
  void add_uses(std::size_t i, const std::vector<std::size_t>& all,
                std::vector<double>& cost) const {
    for (const PlanModel::Use& use : model_.operations()[i].uses) {
      for (std::size_t c = 0; c < cost.size(); ++c) {
        cost[c] += move(use.consumer, use.operand, all[use.consumer], c);
      }
    }
  }

  // Changes the choice of one operation at a time while that lowers the cost of it and its
  // neighbours together.
  void improve(std::vector<std::size_t>& all) const {
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      bool changed = false;
      for (std::size_t i = all.size(); i-- > 0;) changed |= improve_one(i, all);
      for (std::size_t i = 0; i < all.size(); ++i) changed |= improve_one(i, all);
      if (!changed) return;
    }
  }
  bool improve_one(std::size_t i, std::vector<std::size_t>& all) const {
    if (tied_[i] >= 0) return false;  // is changed together with its new value
    std::vector<double> cost = costs(i, all, true);
    if (const std::ptrdiff_t updated = model_.operations()[i].updates; updated >= 0) {
      add_parameter(i, static_cast<std::size_t>(updated), all, cost);
    }
    const std::size_t best = argmin(cost);
    if (cost[best] >= cost[all[i]] * (1.0 - 1e-12)) return false;
    all[i] = best;
    if (const std::ptrdiff_t updated = model_.operations()[i].updates; updated >= 0) {
      const auto parameter = static_cast<std::size_t>(updated);
      all[parameter] = tied_choice(parameter, best);
    }
    return true;
  }
  // Adds, to each choice of a new value, the cost of moving the parameter to its readers, because
  // the parameter is split in the same way as its new value.
  void add_parameter(std::size_t update, std::size_t parameter, const std::vector<std::size_t>& all,
                     std::vector<double>& cost) const {
    std::vector<double> read(choices(parameter).size(), 0.0);
    for (const PlanModel::Use& use : model_.operations()[parameter].uses) {
      if (use.consumer == update) continue;
      for (std::size_t c = 0; c < read.size(); ++c) {
        read[c] += move(use.consumer, use.operand, all[use.consumer], c);
      }
    }
    for (std::size_t c = 0; c < cost.size(); ++c) cost[c] += read[tied_choice(parameter, c)];
  }

  double total(const std::vector<std::size_t>& all) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      sum += tables_[own_[i]][all[i]];
      const auto& operands = model_.operations()[i].operands;
      for (std::size_t o = 0; o < operands.size(); ++o) {
        sum += move(i, o, all[i], all[operands[o].producer]);
      }
    }
    return sum;
  }

  static std::size_t argmin(const std::vector<double>& values) {
    return static_cast<std::size_t>(std::min_element(values.begin(), values.end()) -
                                    values.begin());
  }

  const PlanModel& model_;
  std::int64_t parts_;                       // the wanted number of parts: one for each device
  std::vector<std::vector<Choice>> lists_;   // each sorted
  std::vector<std::vector<double>> tables_;  // seconds
  std::map<Key, std::size_t> list_index_, table_index_;
  // The vectors below have an entry for each operation; list_ and own_ are indices of its list and
  // of the table of its own costs.
  std::vector<std::size_t> list_, own_;
  std::vector<std::vector<std::size_t>> moves_;  // indices of tables, by operand
  std::vector<std::ptrdiff_t> tied_;  // the operation that gives a parameter its new value, or -1
};

}  // namespace

std::vector<std::int64_t> prime_factors(std::int64_t n) {
  std::vector<std::int64_t> result;
  for (std::int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) result.push_back(p);
  }
  if (n > 1) result.push_back(n);
  return result;
}

Plan::Plan(const PlanModel& model, std::span<const Choice> choices) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Operation& operation = model.operations()[i];
    PlannedOperation planned{.operation = operation.relation};
    for (std::size_t d = 0; d < choices[i].size(); ++d) {
      if (choices[i][d] > 1) planned.parts.emplace(operation.dimensions[d].name, choices[i][d]);
    }
    planned.cost = model.cost(operation, choices[i]);
    for (const Operand& operand : operation.operands) {
      const Choice& theirs = choices[operand.producer];
      planned.operands.push_back(model.movement(operand, choices[i], theirs));
      planned.cost += model.cost(operand, choices[i], theirs);
    }
    for (const std::size_t d : operation.dropped) planned.aggregates |= choices[i][d] > 1;
    cost_ += planned.cost;
    parts_.emplace(operation.relation.get(), planned.parts);
    operations_.push_back(std::move(planned));
  }
  seconds_ = cost_.seconds(model.machine());
}

Sharding Plan::sharding() const {
  return [parts = parts_](const Expression& operation, const std::string& dimension) {
    const auto found = parts.find(&operation);
    if (found == parts.end()) return std::int64_t{1};
    const auto split = found->second.find(dimension);
    return split == found->second.end() ? std::int64_t{1} : split->second;
  };
}

Planner::Planner(std::span<const Relation> roots, const Machine& machine,
                 std::span<const std::pair<Relation, Relation>> updates)
    : model_(roots, machine, updates) {}

Plan Planner::best(std::span<const Parts> starts) const {
  std::vector<Parts> all;
  for (const Dimension& dimension : main_dimensions()) {
    all.push_back({{dimension.name, model_.machine().devices}});
  }
  all.insert(all.end(), starts.begin(), starts.end());
  return Plan(model_, PlanOptimizer(model_).best(all));
}

Dimensions Planner::main_dimensions() const {
  struct Main {
    double flops = 0.0;
    std::int64_t size = 1;
  };
  std::map<std::string, Main> found;
  for (const Operation& operation : model_.operations()) {
    for (std::size_t d = 0; operation.product && d < operation.dimensions.size(); ++d) {
      const Dimension& dimension = operation.dimensions[d];
      if (!operation.splits[d] || dimension.size == 1) continue;
      Main& main = found[dimension.name];
      main.flops += operation.flops;
      main.size = std::max(main.size, dimension.size);
    }
  }
  std::vector<std::pair<std::string, Main>> ranked(found.begin(), found.end());
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second.flops > b.second.flops; });
  if (ranked.size() > kMostMainDimensions) ranked.resize(kMostMainDimensions);
  Dimensions result;
  for (const auto& [name, main] : ranked) result.push_back({name, main.size});
  return result;
}

Plan Planner::by_name(const Parts& parts) const {
  return Plan(model_, named_choices(model_, parts));
}

PlanCost Planner::predict(const Parts& parts) const {
  const std::vector<Choice> choices = named_choices(model_, parts);
  PlanCost cost;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Operation& operation = model_.operations()[i];
    cost += model_.cost(operation, choices[i]);
    for (const Operand& operand : operation.operands) {
      cost += model_.cost(operand, choices[i], choices[operand.producer]);
    }
  }
  return cost;
}

}  // namespace doppler::tra
