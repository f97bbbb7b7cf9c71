// What the user asked `dopp train` for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doppler/api/doppler.h"
#include "doppler/train/offline/training.h"
#include "doppler/train/online/online_learner.h"
#include "doppler/train/online/service.h"

namespace doppler::app {

// Stage real of a training.
struct OnlineRequest {
  train::MachineSettings machine = {.backend = ""};  // no engine yet
  train::OnlineSettings learner;
  std::uint64_t runs = 2000;
  bool recalibrate = false;  // repeats stage sim with the costs that were learnt
};
struct TrainRequest {
  std::vector<std::string> graphs;
  api::ProblemSource machine;  // without a graph
  std::string list;            // a file of graphs and devices instead of the two; empty: none
  train::TrainingPlan plan = {.imitation_episodes = 2000};
  bool imitation = false, simulation = true, real = false;  // the stages
  OnlineRequest online;
  bool paper = false;  // the paper's recipe, but for what is given below
  std::optional<std::size_t> width, rounds, batch;
  policy::FeatureSet without;
  std::optional<policy::Prior> prior;
  std::optional<policy::Priorities> priorities;
  std::optional<double> self_imitation;
  std::optional<double> rate, last_rate;  // default of the last: a tenth of the first
  std::string start;  // a policy or training, for stage real also a placement; empty: none
  std::optional<policy::Architecture> model;  // absent: that of `start`, or the plan's
  std::uint64_t seeds = 1;                    // the plan's and those that follow it
  std::string folder;
  bool resume = false;
  bool json = false;
};

void run(const TrainRequest& request);

}  // namespace doppler::app
