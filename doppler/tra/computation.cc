#include "doppler/tra/computation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/tra/operations.h"
#include "doppler/tra/program.h"

namespace doppler::tra {
namespace {

// The values that Kingma and Ba suggest in "Adam: A Method for Stochastic Optimization" (2015).
constexpr double kFirstDecay = 0.9, kSecondDecay = 0.999, kAdamEpsilon = 1e-8;

// Adds the parameter's new value to the roots.
void add_sgd(const Relation& parameter, const Relation& gradient, double rate,
             std::vector<Root>& roots) {
  const Dimensions& dimensions = parameter->type.dimensions;
  const std::string name = parameter->name + ".new";
  roots.push_back(
      {named(join(parameter, gradient, binary("sgd_update", dimensions, dimensions, rate)), name),
       name, parameter});
}

// Adds the parameter's new value and the new values of its two moments to the roots. `step` is the
// number of this step, counted from 1.
void add_adam(const Relation& parameter, const Relation& gradient, const Relation& step,
              double rate, std::vector<Root>& roots) {
  const auto state = [&](const char* what) {
    return input(parameter->name + what, parameter->type, InputRole::kParameter);
  };
  const auto decayed = [&](const Relation& old, const Relation& fresh, double decay,
                           const std::string& name) {
    return named(add(scale(old, decay), scale(fresh, 1.0 - decay)), name);
  };
  // Returns 1 / (1 - decay^step), which corrects a moment's bias towards its start at zero.
  const auto correction = [&](double decay) {
    const Relation power = apply("exp", scale(step, std::log(decay)));
    return apply("reciprocal", shift(scale(power, -1.0), 1.0));
  };
  const Relation first = state(".first"), second = state(".second");
  const std::string name = parameter->name + ".new";
  const Relation new_first = decayed(first, gradient, kFirstDecay, name + ".first");
  const Relation new_second =
      decayed(second, multiply(gradient, gradient), kSecondDecay, name + ".second");
  const Relation mean = multiply(new_first, correction(kFirstDecay));
  const Relation spread =
      shift(apply("sqrt", multiply(new_second, correction(kSecondDecay))), kAdamEpsilon);
  roots.push_back(
      {named(subtract(parameter, scale(divide(mean, spread), rate)), name), name, parameter});
  roots.push_back({new_first, name + ".first", first});
  roots.push_back({new_second, name + ".second", second});
}

}  // namespace

std::vector<Relation> Computation::relations() const {
  std::vector<Relation> result;
  for (const Root& root : roots) result.push_back(root.relation);
  return result;
}

std::vector<std::pair<Relation, Relation>> Computation::updates() const {
  std::vector<std::pair<Relation, Relation>> result;
  for (const Root& root : roots) {
    if (root.updates) result.emplace_back(root.relation, *root.updates);
  }
  return result;
}

Computation forward(const Program& program) {
  Computation computation{program.name, {}};
  for (const NamedRelation& output : program.outputs) {
    computation.roots.push_back({output.relation, output.name});
  }
  if (computation.roots.empty() && program.loss) {
    computation.roots.push_back({*program.loss, "loss"});
  }
  if (computation.roots.empty()) throw InputError("the program has no output and no loss");
  return computation;
}

Computation training(const Program& program, Optimizer optimizer, double rate) {
  if (!program.loss) throw InputError("training needs a loss, and the program has none");
  if (program.parameters.empty()) {
    throw InputError("training needs parameters, and the program has none");
  }
  Computation computation{program.name, {{*program.loss, "loss"}}};
  std::vector<Root>& roots = computation.roots;
  const std::vector<Relation> found = gradients(*program.loss, program.parameters);
  std::optional<Relation> step;
  if (optimizer == Optimizer::kAdam) {
    const Relation before = input("adam.step", {}, InputRole::kParameter);
    step = named(shift(before, 1.0), "adam.step.new");
    roots.push_back({*step, "adam.step.new", before});
  }
  for (std::size_t p = 0; p < found.size(); ++p) {
    if (step) {
      add_adam(program.parameters[p], found[p], *step, rate, roots);
    } else {
      add_sgd(program.parameters[p], found[p], rate, roots);
    }
  }
  return computation;
}

std::vector<std::string> check_parts(const Parts& parts, const Computation& computation) {
  std::map<std::string, std::int64_t> sizes;
  for (const Relation& relation : in_order(computation.relations())) {
    for (const Dimension& dimension : relation->type.dimensions) {
      std::int64_t& size = sizes[dimension.name];
      size = std::max(size, dimension.size);
    }
  }
  std::vector<std::string> notes;
  for (const auto& [name, count] : parts) {
    const auto found = sizes.find(name);
    if (found == sizes.end()) {
      std::vector<std::string_view> known;
      for (const auto& [dimension, size] : sizes) known.push_back(dimension);
      throw InputError(fmt::format("no dimension '{}' to split; the program has: {}", name,
                                   fmt::join(known, ", ")));
    }
    if (count < 1) throw InputError(fmt::format("dimension '{}' in {} parts", name, count));
    if (const std::int64_t size = found->second; count > size) {
      notes.push_back(fmt::format("dimension '{}' has size {}: {} part{}, not {}", name, size, size,
                                  size == 1 ? "" : "s", count));
    }
  }
  return notes;
}

Lowered lower(const Computation& computation, const Sharding& sharding,
              const kernel::Registry& kernels) {
  // Parameters are sharded as roots too, so that each is found in its split form below.
  std::vector<Relation> all = computation.relations();
  for (const auto& [value, parameter] : computation.updates()) all.push_back(parameter);
  const std::vector<Relation> sharded = shard(all, sharding);
  std::vector<Root> roots = computation.roots;
  std::size_t next_parameter = roots.size();
  for (std::size_t r = 0; r < roots.size(); ++r) {
    roots[r].relation = sharded[r];
    if (roots[r].updates) roots[r].updates = sharded[next_parameter++];
  }
  Lowered lowered = lower(roots, kernels, computation.name);
  if (lowered.graph.node_count() == 0) {
    throw InputError("nothing to compute: every output is an input as it is");
  }
  return lowered;
}

}  // namespace doppler::tra
