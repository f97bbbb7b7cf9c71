// SEL and PLC at work: drawing episodes, and the gradient of their probability.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/policy/dual/network.h"
#include "doppler/policy/features/candidates.h"
#include "doppler/policy/features/partial_placement.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

// Selects whether a decision is made by the learned network or by the critical-path rule. The rule
// has no parameters: it picks the candidate with the largest b-level, ties at random, and the
// device on which the node can start first, ties to the lowest number. Its choices count as
// certain: log probability 0, no gradient.
enum class DecisionMaker : std::uint8_t { kLearned, kCriticalPath };

struct DualDesign {
  DecisionMaker node_choice = DecisionMaker::kLearned;
  DecisionMaker device_choice = DecisionMaker::kLearned;
};

// Says how much the log probabilities of the two policies and their entropy count in a loss, which
// is -(weights x values).
struct LossWeights {
  double sel = 1.0, plc = 1.0, entropy = 0.0;
};

// PLC's features, hidden layers and probabilities, by step and device: what learn() would otherwise
// compute again.
template <class T>
struct ChoiceRecord {
  std::vector<T> features, hidden, chances;

  void resize(std::size_t steps, std::size_t devices, std::size_t width);
  // Returns the memory that a record of this size takes.
  static std::size_t bytes(std::size_t steps, std::size_t devices, std::size_t width);
};

// Choices is a placement while it is built, which knows the features of choices: PartialPlacement,
// or another class with the same functions.
//
// Not thread safe: there is one for each thread. Nothing is allocated after the first episode.
template <class T, class Choices = PartialPlacement>
class EpisodeSampler {
 public:
  // `nodes` must outlive this object; `choices` is made of them.
  EpisodeSampler(const NodeFeatures& nodes, Choices choices, DualDesign design = {});

  // Draws an episode. `encoded` is the network's result. Fills `record` unless
  // that is null.
  void sample(const Encoded<T>& encoded, const SamplingSettings& settings, Rng& rng,
              Episode& episode, ChoiceRecord<T>* record = nullptr);
  // Returns the log probability of the episode, and adds the derivatives of the loss to
  // `gradients`. `record` is that of sampling it, or null, in which case PLC's choices are computed
  // again.
  LogProbability learn(const Encoded<T>& encoded, const Episode& episode,
                       const LossWeights& weights, const ChoiceRecord<T>* record,
                       EpisodeGradients<T>& gradients);

 private:
  // A candidate in the heap from which SEL picks: the next pick is the one with the earliest time.
  // Where picks are not random, the time stands for a rank only.
  struct ExponentialClock {
    double time;
    std::uint64_t tie;  // of equal times the smaller is first
    std::uint32_t node;
  };

  void begin(const Encoded<T>& encoded);
  // Returns the clock of a candidate that joins at time `now`.
  ExponentialClock start_clock(const Encoded<T>& encoded, std::uint32_t node, double now,
                               const SamplingSettings& settings, Rng& rng) const;
  // Computes PLC's probabilities for the node, at a step of a record.
  void score(const ChoiceLayers<T>& layers, const Encoded<T>& encoded, NodeId node,
             ChoiceRecord<T>& record, std::size_t step);
  // Returns the device on which the node that partial_ evaluated last can start first.
  DeviceId first_to_start() const;
  void place(const Encoded<T>& encoded, NodeId node, DeviceId device);
  LogProbability learn_node_choices(const Encoded<T>& encoded, const Episode& episode,
                                    const LossWeights& weights, std::vector<T>& d_scores);
  // Returns the entropy of SEL's next pick among open_, whose rates sum to `total_rate`. Adds
  // -weight times its derivatives to `d_scores`.
  double learn_entropy(const Encoded<T>& encoded, double total_rate, double weight,
                       std::vector<T>& d_scores) const;
  // Learns from the steps from `first` to before `end`. The first of them is step `recorded` of the
  // record.
  LogProbability learn_device_choices(const ChoiceLayers<T>& layers, const Episode& episode,
                                      std::size_t first, std::size_t end,
                                      const ChoiceRecord<T>& record, std::size_t recorded,
                                      const LossWeights& weights, EpisodeGradients<T>& gradients);

  const NodeFeatures& nodes_;
  DualDesign design_;
  Choices partial_;
  std::vector<ExponentialClock> clocks_;  // a heap of all candidates
  ChoiceRecord<T> scratch_;
  std::vector<T> scores_;             // by device
  std::vector<T> shares_, d_shares_;  // by device
  std::vector<T> d_hidden_;           // by step and device

  // Buffers of learn_node_choices(), kept so that nothing is allocated.
  Candidates candidates_;
  std::vector<long double> entered_;  // by node: the running sum when it became a candidate
  std::vector<std::uint32_t> open_;   // the candidates, if their entropy counts
};

}  // namespace doppler::policy
