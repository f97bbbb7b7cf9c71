// The two policies as a model that can be trained.
#pragma once

#include <memory>

#include "doppler/policy/actor.h"
#include "doppler/policy/network.h"

namespace doppler::policy {

class DualModel final : public Model {
 public:
  explicit DualModel(NetworkShape shape) : network_(shape) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<Actor> actor(const NodeFeatures& nodes) const override;

 private:
  Network network_;
};

}  // namespace doppler::policy
