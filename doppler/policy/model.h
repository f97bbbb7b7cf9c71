// One placement built by a policy, step by step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/base/rng.h"
#include "doppler/cost/problem.h"
#include "doppler/nn/parameters.h"
#include "doppler/policy/features/choice.h"
#include "doppler/policy/features/node_features.h"
#include "doppler/schedule/placement.h"

namespace doppler::policy {

// Nodes in the order in which they were picked, and where each was put.
struct Episode {
  std::vector<NodeId> order;
  std::vector<DeviceId> device;  // by node

  friend bool operator==(const Episode&, const Episode&) = default;
};

// Which priorities the nodes of an episode get when they run.
enum class Priorities : std::uint8_t {
  kOrder,   // the earlier a node was picked the higher
  kBLevel,  // b-levels in mean costs, whatever the order
};
std::string_view priorities_name(Priorities priorities);
// Throws ParameterError that lists the known names.
Priorities priorities_named(std::string_view name);

// By node: edges from other nodes. A node is a candidate once the producers of all these are
// placed.
std::vector<std::uint32_t> edges_from_nodes(const cost::Problem& problem);

// The earlier a node was picked the higher its priority.
schedule::Placement to_placement(const Episode& episode);
// The order in which a list scheduler with these priorities would pick the nodes.
Episode to_episode(const cost::Problem& problem, const schedule::Placement& placement);

// What a trainer needs of a learned policy, whatever is inside: to play episodes on a problem and
// to tell the gradient of their probability.

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
class BatchRollout {
 public:
  virtual ~BatchRollout() = default;

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
  virtual std::unique_ptr<BatchRollout> actor(const NodeFeatures& nodes) const = 0;
};

}  // namespace doppler::policy
