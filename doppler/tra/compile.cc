#include "doppler/tra/compile.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/tra/gradient.h"
#include "doppler/tra/operations.h"

namespace doppler::tra {
namespace {

// Adam: "Adam: A Method for Stochastic Optimization" (Kingma and Ba, 2015), its suggested values.
constexpr double kFirstDecay = 0.9, kSecondDecay = 0.999, kAdamEpsilon = 1e-8;

// A root before it is split.
struct Result {
  Relation value;
  std::string name;
  std::optional<Relation> updates = std::nullopt;
};

// The parameter's new value, and whatever state goes with it.
void add_sgd(const Relation& parameter, const Relation& gradient, double rate,
             std::vector<Result>& results) {
  const Dimensions& dimensions = parameter->type.dimensions;
  const std::string name = parameter->name + ".new";
  results.push_back(
      {named(join(parameter, gradient, binary("sgd_update", dimensions, dimensions, rate)), name),
       name, parameter});
}

// `step` is the number of the step at hand, from 1.
void add_adam(const Relation& parameter, const Relation& gradient, const Relation& step,
              double rate, std::vector<Result>& results) {
  const auto state = [&](const char* what) {
    return input(parameter->name + what, parameter->type, InputRole::kParameter);
  };
  const auto decayed = [&](const Relation& old, const Relation& fresh, double decay,
                           const std::string& name) {
    return named(add(scale(old, decay), scale(fresh, 1.0 - decay)), name);
  };
  // 1 / (1 - decay^step)
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
  results.push_back(
      {named(subtract(parameter, scale(divide(mean, spread), rate)), name), name, parameter});
  results.push_back({new_first, name + ".first", first});
  results.push_back({new_second, name + ".second", second});
}

std::vector<Result> results_of(const Program& program, const CompileOptions& options) {
  std::vector<Result> results;
  if (!options.train) {
    for (const NamedRelation& output : program.outputs) {
      results.push_back({output.relation, output.name});
    }
    if (results.empty() && program.loss) results.push_back({*program.loss, "loss"});
    if (results.empty()) throw InputError("the program has no output and no loss");
    return results;
  }
  if (!program.loss) throw InputError("training needs a loss, and the program has none");
  if (program.parameters.empty()) {
    throw InputError("training needs parameters, and the program has none");
  }
  results.push_back({*program.loss, "loss"});
  const std::vector<Relation> found = gradients(*program.loss, program.parameters);
  std::optional<Relation> step;
  if (options.optimizer == Optimizer::kAdam) {
    const Relation before = input("step", {}, InputRole::kParameter);
    step = named(shift(before, 1.0), "step.new");
    results.push_back({*step, "step.new", before});
  }
  for (std::size_t p = 0; p < found.size(); ++p) {
    if (step) {
      add_adam(program.parameters[p], found[p], *step, options.rate, results);
    } else {
      add_sgd(program.parameters[p], found[p], options.rate, results);
    }
  }
  return results;
}

void check_names(const Parts& parts, std::span<const Relation> roots) {
  std::set<std::string> known;
  for (const Relation& relation : in_order(roots)) {
    for (const Dimension& dimension : relation->type.dimensions) known.insert(dimension.name);
  }
  for (const auto& [name, count] : parts) {
    if (!known.contains(name)) {
      throw InputError(fmt::format("no dimension '{}' to split; the program has: {}", name,
                                   fmt::join(known, ", ")));
    }
    if (count < 1) throw InputError(fmt::format("dimension '{}' in {} parts", name, count));
  }
}

}  // namespace

Compiled compile(const Program& program, const CompileOptions& options,
                 const kernel::Registry& kernels) {
  const std::vector<Result> results = results_of(program, options);
  std::vector<Relation> roots;
  std::vector<std::pair<Relation, Relation>> updates;
  for (const Result& result : results) {
    roots.push_back(result.value);
    if (result.updates) updates.emplace_back(result.value, *result.updates);
  }
  if (options.parts) check_names(*options.parts, roots);
  Plan planned = options.parts ? plan_by_name(roots, options.machine, *options.parts)
                               : plan(roots, options.machine, updates);

  // Parameters are roots as well, to be found again in their split form.
  std::vector<Relation> all = roots;
  for (const auto& [value, parameter] : updates) all.push_back(parameter);
  const std::vector<Relation> sharded = shard(all, planned.sharding());
  std::vector<Root> lowered_roots;
  std::size_t next_parameter = roots.size();
  for (std::size_t r = 0; r < roots.size(); ++r) {
    lowered_roots.push_back({sharded[r], results[r].name});
    if (results[r].updates) lowered_roots.back().updates = sharded[next_parameter++];
  }
  return {lower(lowered_roots, kernels, program.name), std::move(planned)};
}

}  // namespace doppler::tra
