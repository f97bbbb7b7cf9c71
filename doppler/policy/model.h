// What a trainer needs of a learned policy, whatever is inside: to play episodes on a problem and
// to tell the gradient of their probability.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "doppler/base/rng.h"
#include "doppler/nn/parameters.h"
#include "doppler/policy/episode.h"
#include "doppler/policy/features/choice.h"
#include "doppler/policy/features/node_features.h"

namespace doppler::policy {

struct LogProbability {
  double sel = 0.0, plc = 0.0;
  double entropy = 0.0;  // of both policies, summed over the steps; only where it has a stake
};

// What an episode counts in a loss, with the opposite sign.
struct Stake {
  double log_probability = 1.0;
  double entropy = 0.0;  // not every model takes one
};

// What the episodes of one batch hold, each in a slot of its own: of the model that made it, for
// any problem in turn.
class Workspace {
 public:
  virtual ~Workspace() = default;
};

// A policy on one problem, between a prepare() and the next. Calls for different slots may come
// from different threads at the same time, with different numbers below what prepare() was told;
// what a slot holds does not depend on the thread.
class Actor {
 public:
  virtual ~Actor() = default;

  // Takes parameters and a workspace for all that follows. Both must stay where they are.
  virtual void prepare(std::span<const float> parameters, Workspace& workspace, std::size_t slots,
                       std::size_t threads) = 0;
  virtual void play(std::size_t thread, std::size_t slot, Decoding decoding, Rng& rng,
                    Episode& episode) = 0;
  // The log probability of the episode; keeps the derivatives of a loss, by the stake, in the
  // slot. `played`: it is what the slot played last, so that nothing need be computed again.
  virtual LogProbability learn(std::size_t thread, std::size_t slot, const Episode& episode,
                               Stake stake, bool played) = 0;
  // Adds what the first `slots` slots learnt, in their order.
  virtual void add_gradients(std::size_t slots, std::span<float> gradients) = 0;
};

// The same for any problem. Immutable.
class Model {
 public:
  virtual ~Model() = default;

  virtual const nn::ParameterTable& parameters() const = 0;
  virtual std::unique_ptr<Workspace> workspace() const = 0;
  // `nodes` and this object must outlive the actor.
  virtual std::unique_ptr<Actor> actor(const NodeFeatures& nodes) const = 0;
};

}  // namespace doppler::policy
