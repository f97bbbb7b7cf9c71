// A training of stages I and II with the smallest network, on the small problem.
#pragma once

#include "doppler/place/registry.h"
#include "doppler/train/offline/training.h"
#include "small_problem.h"

namespace fuzzing {

inline doppler::train::Training small_training() {
  static const doppler::place::Registry teachers = doppler::place::classical_methods();
  return {{.shape = {.width = 1, .rounds = 1},
           .imitation_episodes = 2,
           .episodes = 64,
           .learner = {.batch = 2}},
          {small_problem()},
          teachers};
}

// Returns such a training after some updates.
inline doppler::train::Training small_training(int updates) {
  doppler::train::Training training = small_training();
  for (int i = 0; i < updates; ++i) training.update();
  return training;
}

}  // namespace fuzzing
