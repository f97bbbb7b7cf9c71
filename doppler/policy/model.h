// The interfaces through which a trainer uses any learned policy: a Model makes a BatchRollout for
// each problem, which samples episodes and computes the gradient of their probability.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "doppler/base/rng.h"
#include "doppler/nn/parameters.h"
#include "doppler/policy/episode.h"
#include "doppler/policy/sampling.h"

namespace doppler::policy {

class NodeFeatures;

// The natural logarithm of the probability of an episode, split by the two policies. Models with
// only one policy report it as `plc`.
struct LogProbability {
  double sel = 0.0, plc = 0.0;
  // The entropy of both policies in nats, summed over the steps. Found only if it has a weight.
  double entropy = 0.0;
};

// Says how much an episode counts in a loss: loss = -(weights x values). A step of training makes
// an episode with a positive weight more likely.
struct EpisodeWeights {
  double log_probability = 1.0;
  double entropy = 0.0;  // models that do not take it ignore it
  // Weights of the log probability of each step, in the order of the episode, that replace the one
  // above. Only for models whose episodes improve a placement (BatchRollout::first_devices()).
  std::span<const double> by_step = {};
};

// Holds the intermediate values of the episodes of one batch, each in a slot of its own. Only the
// model that made it can use it, for one problem after another.
class Workspace {
 public:
  virtual ~Workspace() = default;
};

// A policy on one problem.
//
// Thread safety: prepare() and add_gradients() are called by one thread while no other call runs.
// Between them, sample() and learn() for different slots may run at the same time if they have
// different `thread` numbers. Results of a slot do not depend on the thread.
class BatchRollout {
 public:
  virtual ~BatchRollout() = default;

  // Sets parameters and workspace for all calls until the next prepare(). Neither is copied: both
  // must stay where they are and unchanged until then. `slots` and `threads` are the numbers of
  // slots and threads that may be used. REQUIRES: the workspace is of the same model.
  virtual void prepare(std::span<const float> parameters, Workspace& workspace, std::size_t slots,
                       std::size_t threads) = 0;
  // Draws an episode. The slot may keep what learn() needs of it.
  virtual void sample(std::size_t thread, std::size_t slot, const SamplingSettings& settings,
                      Rng& rng, Episode& episode) = 0;
  // Returns the log probability of any episode, and keeps the derivatives of the loss with these
  // weights in the slot. `sampled` says that the episode is the last that this slot sampled, with
  // the same parameters, so that nothing need be computed again.
  virtual LogProbability learn(std::size_t thread, std::size_t slot, const Episode& episode,
                               EpisodeWeights weights, bool sampled) = 0;
  // Returns, by node, the devices of the placement that every episode begins with and improves,
  // node by node. Empty for models that build a placement from nothing. Valid as long as this
  // object.
  virtual std::span<const DeviceId> first_devices() const { return {}; }
  // Adds the derivatives that the first `slots` slots hold to the gradients of all parameters, in
  // the order of the slots. The slots do not hold them any more afterwards.
  virtual void add_gradients(std::size_t slots, std::span<float> gradients) = 0;
};

// A kind of policy with its shape but without values of its parameters. Immutable and thread safe.
class Model {
 public:
  virtual ~Model() = default;

  virtual const nn::ParameterTable& parameters() const = 0;
  virtual std::unique_ptr<Workspace> workspace() const = 0;
  // Returns this policy on one problem. `nodes` and this model must outlive the result. Throws
  // ParameterError if the model is for another number of devices.
  virtual std::unique_ptr<BatchRollout> rollout(const NodeFeatures& nodes) const = 0;
};

}  // namespace doppler::policy
