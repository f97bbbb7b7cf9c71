// Stage III of a session: a service that learns, with its files in the session's folder.
#pragma once

#include <cstdint>

#include "doppler/cost/problem.h"
#include "doppler/policy/policy.h"
#include "doppler/schedule/placement.h"
#include "doppler/train/offline/training.h"
#include "doppler/train/session/session.h"

namespace doppler::train {

// What a service begins with.
struct ServiceStart {
  schedule::Placement placement;
  policy::Policy policy;
};

// Returns the policy of a training that is done and the best placement that it found for its first
// problem, or the best of the policy's samples if it found none.
ServiceStart start_from(const cost::Problem& problem, const Training& training, std::uint64_t seed);

// Returns what a stage III without others begins with: what the service in the folder began with if
// it is resumed, or else what `settings.start` names. A policy without a placement gives the best
// of its samples; a placement without a policy comes with the policy that ships. Throws InputError
// if files are missing, damaged, or of another graph.
ServiceStart read_service_start(const cost::Problem& problem, const SessionSettings& settings);

// Begins or resumes the service, runs it to its end or until it is asked to stop, and recalibrates
// if that is asked for. Throws as run_session() does.
ServiceResult run_service(const TrainingProblem& problem, const SessionSettings& settings,
                          ServiceStart start);

}  // namespace doppler::train
