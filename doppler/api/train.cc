#include "doppler/api/train.h"

#include <algorithm>
#include <utility>

#include "doppler/api/placement_source.h"
#include "doppler/schedule/placement.h"

namespace doppler::api {

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
