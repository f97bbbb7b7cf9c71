#include "doppler/policy/baselines/joint_model.h"

#include <algorithm>
#include <vector>

#include "doppler/policy/baselines/joint_sampler.h"

namespace doppler::policy {
namespace {

struct JointWorkspace final : Workspace {
  Encoded<float> encoded;
  std::vector<EpisodeGradients<float>> slots;
};

class JointActor final : public Actor {
 public:
  JointActor(const Network& network, const NodeFeatures& nodes)
      : network_(network), nodes_(nodes) {}

  void prepare(std::span<const float> parameters, Workspace& workspace, std::size_t slots,
               std::size_t threads) override {
    parameters_ = parameters;
    work_ = static_cast<JointWorkspace*>(&workspace);
    network_.encode<float>(parameters, nodes_, work_->encoded);
    work_->slots.resize(std::max(work_->slots.size(), slots));
    while (players_.size() < threads) {
      players_.push_back(std::make_unique<JointPlayer<float>>(network_, nodes_));
    }
  }

  void play(std::size_t thread, std::size_t /*slot*/, Decoding decoding, Rng& rng,
            Episode& episode) override {
    players_[thread]->play(parameters_, work_->encoded, decoding, rng, episode);
  }

  LogProbability learn(std::size_t thread, std::size_t slot, const Episode& episode, Stake stake,
                       bool /*played*/) override {
    EpisodeGradients<float>& gradients = work_->slots[slot];
    gradients.clear(nodes_.node_count(), network_.shape().width);
    return {.plc = players_[thread]->learn(parameters_, work_->encoded, episode,
                                           stake.log_probability, gradients)};
  }

  void add_gradients(std::size_t slots, std::span<float> gradients) override {
    for (std::size_t i = 1; i < slots; ++i) work_->slots[0].add(work_->slots[i]);
    network_.add_gradients<float>(parameters_, nodes_, work_->encoded, work_->slots[0], gradients);
  }

 private:
  const Network& network_;
  const NodeFeatures& nodes_;
  std::span<const float> parameters_;
  JointWorkspace* work_ = nullptr;
  std::vector<std::unique_ptr<JointPlayer<float>>> players_;  // by thread
};

}  // namespace

std::unique_ptr<Workspace> JointModel::workspace() const {
  return std::make_unique<JointWorkspace>();
}

std::unique_ptr<Actor> JointModel::actor(const NodeFeatures& nodes) const {
  return std::make_unique<JointActor>(network_, nodes);
}

}  // namespace doppler::policy
