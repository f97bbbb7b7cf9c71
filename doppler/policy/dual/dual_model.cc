#include "doppler/policy/dual/dual_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "doppler/policy/dual/published_features.h"

namespace doppler::policy {
namespace {

// The memory in which the slots of a batch may keep records for learning. Slots beyond it compute
// the choices of their episodes again.
constexpr std::size_t kRecordBytes = 48'000'000;

// Our network on one graph.
struct DualOnGraph {
  using EncodedGraph = NetworkEncoded<float>;
  using Choices = PartialPlacement;

  const Network& network;
  const NodeFeatures& nodes;

  Choices choices() const { return Choices(nodes, network.shape().without); }
  void encode(std::span<const float> parameters, EncodedGraph& encoded) const {
    network.encode<float>(parameters, nodes, encoded);
  }
  void add_gradients(std::span<const float> parameters, const EncodedGraph& encoded,
                     const EpisodeGradients<float>& d_episodes, std::span<float> gradients) const {
    network.add_gradients<float>(parameters, nodes, encoded, d_episodes, gradients);
  }
};

// The published network on one graph.
struct PublishedOnGraph {
  using EncodedGraph = PublishedEncoded<float>;
  using Choices = PublishedChoices;

  const PublishedNetwork& network;
  const NodeFeatures& nodes;
  PublishedGraph graph;

  Choices choices() const { return Choices(nodes); }
  void encode(std::span<const float> parameters, EncodedGraph& encoded) const {
    network.encode<float>(parameters, nodes, graph, encoded);
  }
  void add_gradients(std::span<const float> parameters, const EncodedGraph& encoded,
                     const EpisodeGradients<float>& d_episodes, std::span<float> gradients) const {
    network.add_gradients<float>(parameters, nodes, graph, encoded, d_episodes, gradients);
  }
};

template <class OnGraph>
struct DualWorkspace final : Workspace {
  struct Slot {
    ChoiceRecord<float> record;
    EpisodeGradients<float> gradients;
  };
  typename OnGraph::EncodedGraph encoded;
  std::vector<Slot> slots;
};

template <class OnGraph>
class DualRollout final : public BatchRollout {
 public:
  DualRollout(OnGraph on_graph, DualDesign design)
      : on_graph_(std::move(on_graph)), design_(design) {}

  void prepare(std::span<const float> parameters, Workspace& workspace, std::size_t slots,
               std::size_t threads) override {
    parameters_ = parameters;
    work_ = static_cast<DualWorkspace<OnGraph>*>(&workspace);
    on_graph_.encode(parameters, work_->encoded);
    work_->slots.resize(std::max(work_->slots.size(), slots));
    const NodeFeatures& nodes = on_graph_.nodes;
    while (samplers_.size() < threads) {
      samplers_.push_back(std::make_unique<Sampler>(nodes, on_graph_.choices(), design_));
    }
    recorded_ = design_.device_choice == DecisionMaker::kCriticalPath
                    ? 0
                    : kRecordBytes / ChoiceRecord<float>::bytes(nodes.node_count(),
                                                                nodes.problem().device_count(),
                                                                on_graph_.network.shape().width);
  }

  void sample(std::size_t thread, std::size_t slot, const SamplingSettings& settings, Rng& rng,
              Episode& episode) override {
    samplers_[thread]->sample(work_->encoded, settings, rng, episode, record(slot));
  }

  LogProbability learn(std::size_t thread, std::size_t slot, const Episode& episode,
                       EpisodeWeights weights, bool sampled) override {
    EpisodeGradients<float>& gradients = work_->slots[slot].gradients;
    gradients.clear(on_graph_.nodes.node_count(), on_graph_.network.shape().width);
    return samplers_[thread]->learn(
        work_->encoded, episode,
        {weights.log_probability, weights.log_probability, weights.entropy},
        sampled ? record(slot) : nullptr, gradients);
  }

  void add_gradients(std::size_t slots, std::span<float> gradients) override {
    for (std::size_t i = 1; i < slots; ++i)
      work_->slots[0].gradients.add(work_->slots[i].gradients);
    on_graph_.add_gradients(parameters_, work_->encoded, work_->slots[0].gradients, gradients);
  }

 private:
  ChoiceRecord<float>* record(std::size_t slot) {
    return slot < recorded_ ? &work_->slots[slot].record : nullptr;
  }

  using Sampler = EpisodeSampler<float, typename OnGraph::Choices>;

  OnGraph on_graph_;
  DualDesign design_;
  std::span<const float> parameters_;
  DualWorkspace<OnGraph>* work_ = nullptr;
  std::size_t recorded_ = 0;                        // the number of slots that keep records
  std::vector<std::unique_ptr<Sampler>> samplers_;  // by thread
};

}  // namespace

std::unique_ptr<Workspace> DualModel::workspace() const {
  return std::make_unique<DualWorkspace<DualOnGraph>>();
}

std::unique_ptr<BatchRollout> DualModel::rollout(const NodeFeatures& nodes) const {
  return std::make_unique<DualRollout<DualOnGraph>>(DualOnGraph{network_, nodes}, design_);
}

std::unique_ptr<Workspace> PublishedModel::workspace() const {
  return std::make_unique<DualWorkspace<PublishedOnGraph>>();
}

std::unique_ptr<BatchRollout> PublishedModel::rollout(const NodeFeatures& nodes) const {
  return std::make_unique<DualRollout<PublishedOnGraph>>(
      PublishedOnGraph{network_, nodes, PublishedGraph(nodes, network_.shape().rounds)},
      DualDesign{});
}

}  // namespace doppler::policy
