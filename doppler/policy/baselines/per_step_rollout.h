// The BatchRollout of models whose network runs anew at every step. Episodes of a batch share
// nothing but the parameters: there is a sampler for each thread, and each slot holds the
// derivatives of its episode by all parameters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "doppler/policy/model.h"

namespace doppler::policy {

struct PerStepWorkspace final : Workspace {
  std::vector<std::vector<float>> gradients;  // by slot
};

// A Sampler has sample(parameters, settings, rng, episode) and
// learn(parameters, episode, weights, gradients). The latter returns a LogProbability and adds the
// derivatives of the loss to the gradients. `first_devices` is what BatchRollout returns.
template <class Sampler>
class PerStepRollout final : public BatchRollout {
 public:
  using MakeSampler = std::function<std::unique_ptr<Sampler>()>;
  explicit PerStepRollout(MakeSampler make_sampler, std::vector<DeviceId> first_devices = {})
      : make_sampler_(std::move(make_sampler)), first_devices_(std::move(first_devices)) {}

  void prepare(std::span<const float> parameters, Workspace& workspace, std::size_t slots,
               std::size_t threads) override {
    parameters_ = parameters;
    work_ = static_cast<PerStepWorkspace*>(&workspace);
    work_->gradients.resize(std::max(work_->gradients.size(), slots));
    while (samplers_.size() < threads) samplers_.push_back(make_sampler_());
  }

  void sample(std::size_t thread, std::size_t /*slot*/, const SamplingSettings& settings, Rng& rng,
              Episode& episode) override {
    samplers_[thread]->sample(parameters_, settings, rng, episode);
  }

  LogProbability learn(std::size_t thread, std::size_t slot, const Episode& episode,
                       EpisodeWeights weights, bool /*sampled*/) override {
    std::vector<float>& gradients = work_->gradients[slot];
    gradients.assign(parameters_.size(), 0.0f);
    return samplers_[thread]->learn(parameters_, episode, weights, gradients);
  }

  std::span<const DeviceId> first_devices() const override { return first_devices_; }

  void add_gradients(std::size_t slots, std::span<float> gradients) override {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        gradients[i] += work_->gradients[slot][i];
      }
    }
  }

 private:
  MakeSampler make_sampler_;
  std::vector<DeviceId> first_devices_;
  std::span<const float> parameters_;
  PerStepWorkspace* work_ = nullptr;
  std::vector<std::unique_ptr<Sampler>> samplers_;  // by thread
};

}  // namespace doppler::policy
