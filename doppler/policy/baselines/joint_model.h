// The one policy over nodes and devices as a model that can be trained.
#pragma once

#include <memory>

#include "doppler/policy/dual/network.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

// Log probabilities are reported as PLC's.
class JointModel final : public Model {
 public:
  explicit JointModel(NetworkShape shape) : network_(shape) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<Actor> actor(const NodeFeatures& nodes) const override;

 private:
  Network network_;
};

}  // namespace doppler::policy
