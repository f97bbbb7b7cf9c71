#include "lab/served_learning.h"

#include <algorithm>

#include "doppler/base/stop.h"
#include "doppler/train/online/service.h"

namespace doppler::lab {
namespace {

constexpr std::uint64_t kServedPoints = 10;

std::vector<OnlinePoint> serve_and_learn(const OnlineRequest& request) {
  train::OnlineLearner learner(request.problem, request.first, request.policy,
                               {.seed = request.seed});
  const auto machine = train::make_machine(request.problem, request.first,
                                           {.backend = std::string(exec::kEmulatedBackend),
                                            .clock = exec::EngineClock::kVirtual,
                                            .deviation = request.truth,
                                            .seed = request.seed});
  // At the same runs whatever the seed, so that curves can be averaged.
  const std::uint64_t step = std::max<std::uint64_t>(1, request.runs / kServedPoints);
  std::vector<OnlinePoint> points = {{.runs = 0, .placement = request.first}};
  serve(learner, *machine,
        {.runs = request.runs,
         .beside = false,
         .stop = StopToken(request.interrupt),
         .served = [&](const train::ServedRun& run) {
           // Told before the run counts.
           if (run.number == 0 || run.number % step != 0) return;
           points.push_back({.runs = run.number, .placement = *learner.incumbent()});
         }});
  points.push_back({.runs = learner.summary().runs, .placement = *learner.incumbent()});
  return points;
}

}  // namespace

OnlineLearning served_learning() {
  return serve_and_learn;
}

}  // namespace doppler::lab
