#include "doppler/policy/features/memory_estimate.h"

#include <algorithm>
#include <cmath>

namespace doppler::policy {
namespace {

// Returns whether the i-th operand is also one of those before it.
bool is_repeated(std::span<const TensorId> operands, std::size_t i) {
  const auto end = operands.begin() + static_cast<std::ptrdiff_t>(i);
  return std::find(operands.begin(), end, operands[i]) != end;
}

}  // namespace

MemoryEstimate::MemoryEstimate(const cost::Problem& problem)
    : problem_(problem), devices_(problem.device_count()) {}

void MemoryEstimate::begin() {
  const graph::Graph& graph = problem_.graph();
  lasting_bytes_.assign(devices_, 0.0);
  passing_bytes_.assign(devices_, 0.0);
  most_passing_bytes_.assign(devices_, 0.0);
  room_share_.assign(devices_, 1.0);
  needed_lasting_.assign(devices_, 0.0);
  needed_passing_.assign(devices_, 0.0);
  has_copy_.assign(problem_.tensor_count() * devices_, 0);
  readers_left_.resize(problem_.tensor_count());
  for (std::size_t t = 0; t < problem_.tensor_count(); ++t) {
    readers_left_[t] = static_cast<std::uint32_t>(graph.consumers(TensorId::of(t)).size());
  }
}

void MemoryEstimate::evaluate(NodeId node, std::span<std::uint8_t> may_take) {
  const graph::Graph& graph = problem_.graph();
  double results = 0.0;
  for (const TensorId tensor : graph.outputs(node)) {
    if (!graph.updates(tensor).valid()) results += problem_.bytes(tensor);
  }
  std::fill(needed_passing_.begin(), needed_passing_.end(), results);
  std::fill(needed_lasting_.begin(), needed_lasting_.end(), 0.0);
  const auto operands = graph.inputs(node);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (is_repeated(operands, i)) continue;
    const std::uint8_t* copies = &has_copy_[operands[i].index() * devices_];
    std::vector<double>& needed =
        graph.role(operands[i]) == graph::TensorRole::kValue ? needed_passing_ : needed_lasting_;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!copies[d]) needed[d] += problem_.bytes(operands[i]);
    }
  }
  bool any = false;
  std::size_t roomiest = devices_;
  double most_room = -cost::kInfinity;
  for (std::size_t d = 0; d < devices_; ++d) {
    const double capacity = problem_.capacity_bytes(DeviceId::of(d));
    const double room = capacity - lasting_bytes_[d] - needed_lasting_[d] -
                        std::max(most_passing_bytes_[d], passing_bytes_[d] + needed_passing_[d]);
    room_share_[d] = std::isinf(capacity) ? 1.0 : std::clamp(room / capacity, -1.0, 1.0);
    if (!may_take[d]) continue;
    any |= room >= 0.0;
    if (room > most_room) {
      most_room = room;
      roomiest = d;
    }
  }
  for (std::size_t d = 0; d < devices_; ++d) {
    if (may_take[d]) may_take[d] = any ? room_share_[d] >= 0.0 : d == roomiest;
  }
}

void MemoryEstimate::place(NodeId node, DeviceId device) {
  const graph::Graph& graph = problem_.graph();
  const std::size_t d = device.index();
  lasting_bytes_[d] += needed_lasting_[d];
  passing_bytes_[d] += needed_passing_[d];
  most_passing_bytes_[d] = std::max(most_passing_bytes_[d], passing_bytes_[d]);
  const auto operands = graph.inputs(node);
  for (const TensorId tensor : graph.outputs(node)) {
    has_copy_[tensor.index() * devices_ + d] = 1;
  }
  for (const TensorId tensor : operands) has_copy_[tensor.index() * devices_ + d] = 1;
  // Values that nobody reads any more are freed everywhere; inputs, parameters and outputs stay.
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TensorId tensor = operands[i];
    if (is_repeated(operands, i)) continue;
    if (--readers_left_[tensor.index()] > 0 || graph.role(tensor) != graph::TensorRole::kValue ||
        graph.is_output(tensor) || graph.updates(tensor).valid()) {
      continue;
    }
    for (std::size_t on = 0; on < devices_; ++on) {
      if (has_copy_[tensor.index() * devices_ + on]) passing_bytes_[on] -= problem_.bytes(tensor);
    }
  }
}

}  // namespace doppler::policy
