// Notices that a training has gone astray, and takes it back: where batches take half as long again
// against the best known as they once did, the parameters return to what they were then.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "doppler/train/offline/learner.h"

namespace doppler::train {

class DivergenceWatch {
 public:
  // All that it knows; empty before the first state that is worth returning to.
  struct State {
    double level = 0.0;         // running mean over batches of log(mean time / best known time)
    std::uint64_t batches = 0;  // seen since the last return
    std::uint64_t returns = 0;
    double good_level = std::numeric_limits<double>::infinity();
    std::vector<float> parameters = {};
    nn::AdamState optimiser = {};
  };

  // The running mean covers all problems about twice.
  explicit DivergenceWatch(std::size_t problems);

  // After every update: `excess` is log(mean time of the batch / best known time). True where the
  // training had diverged and the learner was taken back.
  bool after_update(double excess, Learner& learner);

  // What learning rates are to be multiplied by: half as much after every return.
  double rate_factor() const;

  const State& state() const { return state_; }
  void restore(State state) { state_ = std::move(state); }

 private:
  std::uint64_t horizon_;  // batches
  State state_;
};

}  // namespace doppler::train
