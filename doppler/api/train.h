// Training of policies: imitation, simulation and real runs, one after the other in one call.
#pragma once

#include <memory>
#include <vector>

#include "doppler/api/load.h"
#include "doppler/cost/problem.h"
#include "doppler/train/session/session.h"

namespace doppler::api {

using train::SessionProgress;
using train::SessionResult;
using train::SessionSettings;
using train::Stage;
using train::TrainingProblem;

// Reads a problem to train on from files. Throws as load_problem() does.
TrainingProblem load_training_problem(const ProblemSource& source);

// Trains on problems, in stages, and leaves a folder with checkpoints, a policy that
// PolicyOptions::file takes and, after stage III, the best placement
// (doppler/train/session/session.h). Graphs and devices that `settings.names` does not name are
// taken from the problems. Throws as train::run_session() does.
SessionResult train(std::vector<TrainingProblem> problems, SessionSettings settings);
// Trains on one problem that comes from no file.
SessionResult train(std::shared_ptr<const cost::Problem> problem, SessionSettings settings);

}  // namespace doppler::api
