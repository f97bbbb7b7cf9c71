#include "doppler/study/reproduce/served_learning.h"

#include "doppler/base/stop.h"
#include "doppler/study/serve.h"

namespace doppler::study::reproduce {
namespace {

std::vector<OnlinePoint> serve_and_learn(const OnlineRequest& request) {
  train::OnlineLearner learner(request.problem, request.first, request.policy,
                               {.seed = request.seed});
  const auto machine = make_machine(request.problem, request.first,
                                    {.backend = std::string(exec::kEmulatedBackend),
                                     .clock = EngineClock::kVirtual,
                                     .deviation = request.truth,
                                     .seed = request.seed});
  std::vector<OnlinePoint> points = {{.runs = 0, .placement = request.first}};
  ServeSettings settings{
      .runs = request.runs, .beside = false, .stop = StopToken(request.interrupt)};
  settings.served = [&](const ServedRun& run) {
    const schedule::Placement& incumbent = *learner.incumbent();
    if (incumbent == points.back().placement) return;
    points.push_back({.runs = run.number + 1, .placement = incumbent});
  };
  serve(learner, *machine, settings);
  points.push_back({.runs = request.runs, .placement = *learner.incumbent()});
  return points;
}

}  // namespace

OnlineLearning served_learning() {
  return serve_and_learn;
}

}  // namespace doppler::study::reproduce
