#include "doppler/api/doppler.h"

#include <algorithm>
#include <utility>

#include "doppler/analysis/fidelity.h"
#include "doppler/api/load.h"
#include "doppler/api/placement_source.h"
#include "doppler/base/file.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/placement.h"

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

TrainingProblem load_training_problem(const ProblemSource& source) {
  LoadedProblem loaded = load_problem(source);
  schedule::PlacementOrigin origin = origin_of(*loaded.problem, source);
  return {std::move(loaded.problem), std::move(origin)};
}

SessionResult train(std::vector<TrainingProblem> problems, SessionSettings settings) {
  train::ProblemNames& names = settings.names;
  if (names.graphs.empty() && names.devices.empty() && names.list.empty()) {
    std::vector<std::string> devices;
    const auto add_once = [](std::vector<std::string>& list, const std::string& name) {
      if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
    };
    for (const TrainingProblem& problem : problems) {
      add_once(names.graphs, problem.origin.graph);
      add_once(devices, problem.origin.devices);
    }
    for (const std::string& name : devices)
      names.devices += (&name == devices.data() ? "" : ",") + name;
  }
  return train::run_session(problems, settings);
}

SessionResult train(std::shared_ptr<const cost::Problem> problem, SessionSettings settings) {
  schedule::PlacementOrigin origin =
      schedule::origin_of(*problem, "", std::string(problem->topology().name()));
  return train({{std::move(problem), std::move(origin)}}, std::move(settings));
}

}  // namespace doppler::api
