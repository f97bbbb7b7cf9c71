#include "doppler/api/place.h"

#include <utility>

#include "doppler/analysis/fidelity.h"
#include "doppler/api/load.h"
#include "doppler/base/file.h"
#include "doppler/policy/policy.h"

namespace doppler::api {

place::Registry default_methods() {
  return methods_with_policy({});
}

place::Registry methods_with_policy(const PolicyOptions& policy) {
  train::PolicySource source = train::shipped_policies;
  if (!policy.file.empty()) {
    source = [read = std::make_shared<const policy::Policy>(policy::read_policy_json(
                  policy.file, read_file(policy.file)))] { return train::Policies{read}; };
  }
  return place::methods_with({train::make_policy_placer(std::move(source), policy.placer)},
                             train::make_scratch_placers());
}

Result place(const cost::Problem& problem, const PlaceOptions& options) {
  const place::Registry methods = methods_with_policy(options.policy);
  return place::run_method(problem, methods.find(options.method), options.run);
}

Result place(graph::Graph graph, const std::string& devices, const PlaceOptions& options) {
  return place(*make_problem(std::move(graph), devices, options.problem), options);
}

sim::SimulateResult simulate(const cost::Problem& problem, const Placement& placement,
                             const sim::SimulateSettings& settings) {
  if (settings.runs < 1) throw ParameterError("a simulation has at least one run");
  schedule::check_placement(problem, placement);
  return sim::simulate(problem, placement, settings);
}

RunResult run(std::shared_ptr<const cost::Problem> problem, const Placement& placement,
              const exec::ExecuteSettings& settings) {
  RunResult result{exec::execute(problem, placement, settings)};
  result.predicted =
      analysis::predict_makespan(*problem, result.placement, settings.mode, settings.choice);
  return result;
}

exec::Replace make_replacement(double budget_seconds) {
  return [budget_seconds](const cost::Problem& rest) {
    return place(rest, {.run = {.budget_seconds = budget_seconds}}).placement;
  };
}

}  // namespace doppler::api
