// Two policies, SEL and PLC, as models that can be trained: with our network, in which either may
// be replaced by the critical path's rule, and with the published one.
//
// The network runs once for all episodes of a batch. Slots keep records of PLC's choices as long as
// these fit into 48 MB; beyond that, learning computes the choices again, with the same result.
#pragma once

#include <memory>

#include "doppler/policy/dual/episode_sampler.h"
#include "doppler/policy/dual/network.h"
#include "doppler/policy/dual/published_network.h"
#include "doppler/policy/model.h"

namespace doppler::policy {

class DualModel final : public Model {
 public:
  explicit DualModel(NetworkShape shape, DualDesign design = {})
      : network_(shape), design_(design) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<BatchRollout> rollout(const NodeFeatures& nodes) const override;

 private:
  Network network_;
  DualDesign design_;
};

// DOPPLER as published. Of the shape, width and rounds count.
class PublishedModel final : public Model {
 public:
  explicit PublishedModel(NetworkShape shape) : network_(shape) {}

  const nn::ParameterTable& parameters() const override { return network_.parameters(); }
  std::unique_ptr<Workspace> workspace() const override;
  std::unique_ptr<BatchRollout> rollout(const NodeFeatures& nodes) const override;

 private:
  PublishedNetwork network_;
};

}  // namespace doppler::policy
