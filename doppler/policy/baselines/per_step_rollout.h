// Actors of models whose network runs anew at every step, so that episodes of a batch share nothing
// but the parameters: a player for each thread, and in each slot the derivatives of its episode by
// all parameters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/policy/dual/network.h"
#include "doppler/policy/features/node_features.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

struct StepWorkspace final : Workspace {
  std::vector<std::vector<float>> gradients;  // by slot
};

// A player has play(parameters, decoding, rng, episode) and
// learn(parameters, episode, stake, gradients), which adds.
template <class EpisodeSampler>
class PerStepRollout final : public BatchRollout {
 public:
  using MakePlayer = std::function<std::unique_ptr<EpisodeSampler>()>;
  explicit PerStepRollout(MakePlayer make_player) : make_player_(std::move(make_player)) {}

  void prepare(std::span<const float> parameters, Workspace& workspace, std::size_t slots,
               std::size_t threads) override {
    parameters_ = parameters;
    work_ = static_cast<StepWorkspace*>(&workspace);
    work_->gradients.resize(std::max(work_->gradients.size(), slots));
    while (players_.size() < threads) players_.push_back(make_player_());
  }

  void play(std::size_t thread, std::size_t /*slot*/, Decoding decoding, Rng& rng,
            Episode& episode) override {
    players_[thread]->play(parameters_, decoding, rng, episode);
  }

  LogProbability learn(std::size_t thread, std::size_t slot, const Episode& episode, Stake stake,
                       bool /*played*/) override {
    std::vector<float>& gradients = work_->gradients[slot];
    gradients.assign(parameters_.size(), 0.0f);
    return players_[thread]->learn(parameters_, episode, stake.log_probability, gradients);
  }

  void add_gradients(std::size_t slots, std::span<float> gradients) override {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        gradients[i] += work_->gradients[slot][i];
      }
    }
  }

 private:
  MakePlayer make_player_;
  std::span<const float> parameters_;
  StepWorkspace* work_ = nullptr;
  std::vector<std::unique_ptr<EpisodeSampler>> players_;  // by thread
};

// What models have in common that have one output for each device, and so are for one number of
// devices, and that choose no order: nodes come in that of a list scheduler by b-levels.

// Throws ParameterError where the problem has another number of devices than the shape.
void require_device_count(std::string_view model, const NetworkShape& shape,
                          const NodeFeatures& nodes);

// A topological order; candidates with larger b-levels in mean costs come first.
std::vector<NodeId> list_order(const NodeFeatures& nodes);

}  // namespace doppler::policy
