// Stage real of dopp train: a service that learns, with its files in the training's folder.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/requests.h"
#include "app/terminal.h"
#include "doppler/base/stop.h"
#include "doppler/cost/problem.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/placement.h"

namespace doppler::app {

struct OnlineStart {
  schedule::Placement placement;
  policy::Policy policy;
};

// What `--start` names: a policy, a training's folder, or a placement; empty: the policy that
// ships. A policy's placement is the best of its samples. With --resume, what the service in the
// folder began with.
OnlineStart online_start(const TrainRequest& request, const cost::Problem& problem);

// Begins, or goes on with --resume, and prints what came of it. Throws as RunFolder does where the
// folder is taken.
void run_online(const TrainRequest& request, std::shared_ptr<const cost::Problem> problem,
                OnlineStart start, const StopToken& stop, ProgressLine& progress);

}  // namespace doppler::app
