#include "doppler/exec/duration_model.h"

#include <fmt/format.h>

#include <cmath>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"

namespace doppler::exec {
namespace {

void check_factor(const std::string& what, double factor) {
  constexpr double kLargest = 1e6;
  if (!(factor > 0.0 && factor <= kLargest)) {
    throw ParameterError(
        fmt::format("{}: a factor of {} is not above 0 and at most {}", what, factor, kLargest));
  }
}

}  // namespace

DurationModel::DurationModel(const cost::Problem& problem, const MachineSkew& skew)
    : problem_(&problem),
      op_factor_(problem.graph().op_kinds().size(), 1.0),
      device_factor_(problem.device_count(), 1.0),
      contention_(skew.contention),
      jitter_(skew.jitter) {
  if (!(jitter_ >= 0.0) || !std::isfinite(jitter_)) {
    throw ParameterError(fmt::format("a jitter of {} is not a number from 0", jitter_));
  }
  if (!(contention_ >= 0.0) || !std::isfinite(contention_)) {
    throw ParameterError(fmt::format("a contention of {} is not a number from 0", contention_));
  }
  const auto kinds = problem.graph().op_kinds();
  for (const auto& [kind, factor] : skew.op_factors) {
    check_factor(kind, factor);
    // A kind that this graph does not have changes nothing: tables are written for many graphs.
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (kinds[k] == kind) op_factor_[k] = factor;
    }
  }
  const auto device_named = [&](const std::string& name) {
    for (std::size_t d = 0; d < problem.device_count(); ++d) {
      if (problem.topology().device(DeviceId::of(d)).name == name) return d;
    }
    throw ParameterError(fmt::format("there is no device '{}'", name));
  };
  for (const auto& [name, factor] : skew.device_factors) {
    check_factor(name, factor);
    device_factor_[device_named(name)] = factor;
  }
  if (!skew.link_factors.empty()) {
    link_factor_.assign(problem.device_count() * problem.device_count(), 1.0);
  }
  for (const auto& [link, factor] : skew.link_factors) {
    check_factor(link, factor);
    const std::size_t arrow = link.find('>');
    if (arrow == std::string::npos) {
      throw ParameterError(fmt::format("'{}' is no link: say FROM>TO", link));
    }
    const std::size_t from = device_named(link.substr(0, arrow));
    link_factor_[from * problem.device_count() + device_named(link.substr(arrow + 1))] = factor;
  }
}

double DurationModel::jitter_factor(std::uint64_t run, std::uint64_t what) const {
  if (jitter_ == 0.0) return 1.0;
  return std::exp(jitter_ * Rng(mix64(run) ^ mix64(~what)).normal());
}

double DurationModel::node_time(NodeId node, DeviceId device, std::uint64_t run) const {
  return problem_->compute_time(node, device) * op_factor_[problem_->graph().op_kind_index(node)] *
         device_factor_[device.index()] * jitter_factor(run, node.value());
}

double DurationModel::transfer_time(const Transfer& transfer, std::uint32_t others,
                                    std::uint64_t run) const {
  double time = transfer.duration * (1.0 + contention_ * others);
  if (!link_factor_.empty()) {
    time *= link_factor_[transfer.from.index() * problem_->device_count() + transfer.to.index()];
  }
  return time * jitter_factor(
                    run, (std::uint64_t{transfer.tensor.value()} + 1) << 32 | transfer.to.value());
}

}  // namespace doppler::exec
