// The two policies at work on one placement after another: sampling it, and the gradient of its
// probability.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/policy/dual/network.h"
#include "doppler/policy/features/partial_placement.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

// Who makes one of the two kinds of choices. The critical path's rule has no parameters: it picks
// the candidate with the largest b-level, ties at random, and the device where the node can start
// first, ties to the first of them. Its choices count as certain: log probability 0, no gradient.
enum class Chooser : std::uint8_t { kLearned, kCriticalPath };

struct DualDesign {
  Chooser selection = Chooser::kLearned, placing = Chooser::kLearned;
};

// How much the two policies' log probabilities and their entropies count.
struct LossWeights {
  double sel = 1.0, plc = 1.0, entropy = 0.0;
};

// What PLC saw and made of it, by step and device.
template <class T>
struct ChoiceRecord {
  std::vector<T> features, hidden, chances;

  void resize(std::size_t steps, std::size_t devices, std::size_t width);
  static std::size_t bytes(std::size_t steps, std::size_t devices, std::size_t width);
};

// One per thread. Nothing is allocated after the first episode.
template <class T>
class EpisodeSampler {
 public:
  // Both must outlive this object.
  EpisodeSampler(const Network& network, const NodeFeatures& nodes, DualDesign design = {});

  // `record`: where to keep what learn() needs, or null.
  void play(std::span<const T> parameters, const Encoded<T>& encoded, Decoding decoding, Rng& rng,
            Episode& episode, ChoiceRecord<T>* record = nullptr);
  // The log probability of the episode. Adds `stakes` times its derivatives to the gradients, with
  // the opposite sign: those of a loss. Without a record the episode is played again.
  LogProbability learn(std::span<const T> parameters, const Encoded<T>& encoded,
                       const Episode& episode, const LossWeights& stakes,
                       const ChoiceRecord<T>* record, EpisodeGradients<T>& gradients);

 private:
  struct ExponentialClock {  // in a race in which SEL's next pick is the first to arrive
    double arrival;
    std::uint64_t tie;
    std::uint32_t node;
  };

  void begin();
  ExponentialClock runner(const Encoded<T>& encoded, std::uint32_t node, double now,
                          Decoding decoding, Rng& rng) const;
  // PLC's chances for the node, at a step of a record.
  void score(const ChoiceLayers<T>& layers, const Encoded<T>& encoded, NodeId node,
             ChoiceRecord<T>& record, std::size_t step);
  // REQUIRES: the construction looks at the node.
  DeviceId first_to_start() const;
  void put(const Encoded<T>& encoded, NodeId node, DeviceId device);
  LogProbability learn_selection(const Encoded<T>& encoded, const Episode& episode,
                                 const LossWeights& stakes, std::vector<T>& d_scores);
  // The entropy of SEL's next pick, from the candidates that are open; adds -stake times its
  // derivatives.
  double learn_entropy(const Encoded<T>& encoded, double candidates, double stake,
                       std::vector<T>& d_scores) const;
  // Of the steps from `first` to before `end`; the first of them is step `recorded` of the record.
  LogProbability learn_placing(const ChoiceLayers<T>& layers, const Episode& episode,
                               std::size_t first, std::size_t end, const ChoiceRecord<T>& record,
                               std::size_t recorded, const LossWeights& stakes,
                               EpisodeGradients<T>& gradients);

  const Network& network_;
  const NodeFeatures& nodes_;
  DualDesign design_;
  PartialPlacement construction_;
  std::vector<std::uint32_t> edges_in_;  // by node: from other nodes
  std::vector<ExponentialClock> race_;
  ChoiceRecord<T> scratch_;
  std::vector<T> d_hidden_;             // by step and device
  std::vector<T> scores_;               // by device
  std::vector<T> shares_, d_shares_;    // by device
  std::vector<long double> entered_;    // by node
  std::vector<std::uint32_t> missing_;  // by node
  std::vector<std::uint32_t> open_;     // candidates, where their entropy counts
};

// The two policies as a model that can be trained, or one of them beside the critical path's rule.

class DualModel final : public Model {
 public:
  explicit DualModel(NetworkShape shape, DualDesign design = {})
      : network_(shape), design_(design) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<BatchRollout> actor(const NodeFeatures& nodes) const override;

 private:
  Network network_;
  DualDesign design_;
};

}  // namespace doppler::policy
