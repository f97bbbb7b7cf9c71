#include "doppler/policy/dual/dual_model.h"

#include <algorithm>
#include <vector>

namespace doppler::policy {
namespace {

// The memory in which the slots of a batch may keep records for learning. Slots beyond it compute
// the choices of their episodes again.
constexpr std::size_t kRecordBytes = 48'000'000;

struct DualWorkspace final : Workspace {
  struct Slot {
    ChoiceRecord<float> record;
    EpisodeGradients<float> gradients;
  };
  Encoded<float> encoded;
  std::vector<Slot> slots;
};

class DualRollout final : public BatchRollout {
 public:
  DualRollout(const Network& network, DualDesign design, const NodeFeatures& nodes)
      : network_(network), design_(design), nodes_(nodes) {}

  void prepare(std::span<const float> parameters, Workspace& workspace, std::size_t slots,
               std::size_t threads) override {
    parameters_ = parameters;
    work_ = static_cast<DualWorkspace*>(&workspace);
    network_.encode<float>(parameters, nodes_, work_->encoded);
    work_->slots.resize(std::max(work_->slots.size(), slots));
    while (samplers_.size() < threads) {
      samplers_.push_back(std::make_unique<EpisodeSampler<float>>(network_, nodes_, design_));
    }
    recorded_ = design_.device_choice == DecisionMaker::kCriticalPath
                    ? 0
                    : kRecordBytes / ChoiceRecord<float>::bytes(nodes_.node_count(),
                                                                nodes_.problem().device_count(),
                                                                network_.shape().width);
  }

  void sample(std::size_t thread, std::size_t slot, const SamplingSettings& settings, Rng& rng,
              Episode& episode) override {
    samplers_[thread]->sample(parameters_, work_->encoded, settings, rng, episode, record(slot));
  }

  LogProbability learn(std::size_t thread, std::size_t slot, const Episode& episode,
                       EpisodeWeights weights, bool sampled) override {
    EpisodeGradients<float>& gradients = work_->slots[slot].gradients;
    gradients.clear(nodes_.node_count(), network_.shape().width);
    return samplers_[thread]->learn(
        parameters_, work_->encoded, episode,
        {weights.log_probability, weights.log_probability, weights.entropy},
        sampled ? record(slot) : nullptr, gradients);
  }

  void add_gradients(std::size_t slots, std::span<float> gradients) override {
    for (std::size_t i = 1; i < slots; ++i)
      work_->slots[0].gradients.add(work_->slots[i].gradients);
    network_.add_gradients<float>(parameters_, nodes_, work_->encoded, work_->slots[0].gradients,
                                  gradients);
  }

 private:
  ChoiceRecord<float>* record(std::size_t slot) {
    return slot < recorded_ ? &work_->slots[slot].record : nullptr;
  }

  const Network& network_;
  DualDesign design_;
  const NodeFeatures& nodes_;
  std::span<const float> parameters_;
  DualWorkspace* work_ = nullptr;
  std::size_t recorded_ = 0;  // the number of slots that keep records
  std::vector<std::unique_ptr<EpisodeSampler<float>>> samplers_;  // by thread
};

}  // namespace

std::unique_ptr<Workspace> DualModel::workspace() const {
  return std::make_unique<DualWorkspace>();
}

std::unique_ptr<BatchRollout> DualModel::rollout(const NodeFeatures& nodes) const {
  return std::make_unique<DualRollout>(network_, design_, nodes);
}

}  // namespace doppler::policy
