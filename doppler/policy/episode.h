// One placement built by a policy, step by step: sampling it, and the gradient of its probability.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/policy/construction.h"
#include "doppler/policy/network.h"
#include "doppler/schedule/placement.h"

namespace doppler::policy {

// Nodes in the order in which SEL picked them, and where PLC put each.
struct Episode {
  std::vector<NodeId> order;
  std::vector<DeviceId> device;  // by node

  friend bool operator==(const Episode&, const Episode&) = default;
};

// The earlier a node was picked the higher its priority.
schedule::Placement to_placement(const Episode& episode);
// The order in which a list scheduler with these priorities would pick the nodes.
Episode to_episode(const cost::Problem& problem, const schedule::Placement& placement);

enum class Decoding : std::uint8_t { kSample, kGreedy };

// How much the two policies count in a sum of log probabilities.
struct Stakes {
  double sel = 1.0, plc = 1.0;
};

struct LogProbability {
  double sel = 0.0, plc = 0.0;
};

// One per thread. Nothing is allocated after the first episode.
template <class T>
class Player {
 public:
  // Both must outlive this object.
  Player(const Network& network, const NodeFeatures& nodes);

  void play(std::span<const T> parameters, const Encoded<T>& encoded, Decoding decoding, Rng& rng,
            Episode& episode);
  // The log probability of the episode. Adds `stakes` times its derivatives to the gradients, with
  // the opposite sign: those of a loss.
  LogProbability learn(std::span<const T> parameters, const Encoded<T>& encoded,
                       const Episode& episode, const Stakes& stakes, std::span<T> gradients,
                       EncodedGradients<T>& d_encoded);

 private:
  struct Runner {  // in a race in which SEL's next pick is the first to arrive
    double arrival;
    std::uint32_t node;
  };

  void score(std::span<const T> parameters, const Encoded<T>& encoded, NodeId node);
  void put(const Encoded<T>& encoded, NodeId node, DeviceId device);

  const Network& network_;
  const NodeFeatures& nodes_;
  Construction construction_;
  std::vector<Runner> race_;
  ChoiceLayers<T> layers_{};                    // of the last choice
  std::vector<T> hidden_, d_hidden_;            // by device
  std::vector<T> scores_, chances_, d_scores_;  // by device
  std::vector<T> shares_, d_shares_;            // by device
  std::vector<double> entered_;                 // by node
};

}  // namespace doppler::policy
