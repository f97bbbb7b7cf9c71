// The two policies as a model that can be trained, or one of them beside the critical path's rule.
#pragma once

#include <memory>

#include "doppler/policy/dual/episode_sampler.h"
#include "doppler/policy/dual/network.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

class DualModel final : public Model {
 public:
  explicit DualModel(NetworkShape shape, DualDesign design = {})
      : network_(shape), design_(design) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<Actor> actor(const NodeFeatures& nodes) const override;

 private:
  Network network_;
  DualDesign design_;
};

}  // namespace doppler::policy
