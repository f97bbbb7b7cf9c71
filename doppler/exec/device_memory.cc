#include "doppler/exec/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/kernel/cpu/blas.h"

namespace doppler::exec {
namespace {

using graph::TensorRole;

// Asking whether kernels still find memory takes some microseconds, so smaller buffers go without.
constexpr double kMuchBytes = 1e6;

double bytes_of(std::size_t elements) {
  return static_cast<double>(elements * sizeof(float));
}

}  // namespace

Arena::Buffer Arena::allocate(std::size_t elements) {
  if (const auto found = idle_.find(elements); found != idle_.end() && !found->second.empty()) {
    Buffer buffer = std::move(found->second.back());
    found->second.pop_back();
    return buffer;
  }
  bytes_ += bytes_of(elements);
  for (auto at = idle_.begin(); at != idle_.end() && bytes_ > capacity_bytes_;) {
    if (at->second.empty()) {
      at = idle_.erase(at);
      continue;
    }
    at->second.pop_back();
    bytes_ -= bytes_of(at->first);
  }
  Buffer buffer(new float[elements]);
  if (bytes_of(elements) >= kMuchBytes) kernel::cpu::require_blas_memory(threads_);
  return buffer;
}

void Arena::release(Buffer buffer, std::size_t elements) {
  if (buffer) idle_[elements].push_back(std::move(buffer));
}

DeviceMemory::DeviceMemory(std::shared_ptr<const cost::Problem> whole,
                           std::vector<std::size_t> elements, bool backed_up)
    : whole_(std::move(whole)), elements_(std::move(elements)), backed_up_(backed_up) {
  for (std::size_t d = 0; d < whole_->device_count(); ++d) {
    arenas_.emplace_back(whole_->capacity_bytes(DeviceId::of(d)), whole_->device_count());
  }
}

TensorId DeviceMemory::whole_tensor(CopyIndex copy) const {
  const TensorId tensor = plan_->copies()[copy].tensor;
  return tensors_.empty() ? tensor : tensors_[tensor.index()];
}

// Inputs and parameters stay for the next run. Results that were moved into the remaining work of a
// run, where they are inputs, do not.
bool DeviceMemory::stays(CopyIndex copy) const {
  return plan_->copies()[copy].from_start &&
         whole_->graph().role(whole_tensor(copy)) != TensorRole::kValue;
}

void DeviceMemory::arrange(const TransferPlan& plan, std::span<const TensorId> tensors,
                           const Values& elsewhere) {
  struct Held {
    DeviceId device;
    Arena::Buffer buffer;
  };
  std::unordered_map<TensorId, std::vector<Held>> held;  // by tensor of the whole graph
  for (std::size_t c = 0; c < buffers_.size(); ++c) {
    if (!buffers_[c]) continue;
    const auto copy = static_cast<CopyIndex>(c);
    const DeviceId device = plan_->copies()[c].device;
    if (there_[c]) {
      held[whole_tensor(copy)].push_back({device, std::move(buffers_[c])});
    } else {
      arenas_[device.index()].release(std::move(buffers_[c]), elements(copy));
    }
  }
  plan_ = &plan;
  tensors_.assign(tensors.begin(), tensors.end());
  renewed_ = false;
  const std::size_t copies = plan.copies().size();
  there_.assign(copies, 0);
  buffers_.clear();
  renewals_.clear();
  if (elements_.empty()) {
    for (std::size_t c = 0; c < copies; ++c) there_[c] = plan.copies()[c].from_start;
    return;
  }
  buffers_.resize(copies);
  std::vector<CopyIndex> missing;
  std::unordered_map<TensorId, const float*> source;  // a place of each that is held
  for (const auto& [tensor, places] : held) source[tensor] = places.front().buffer.get();
  for (std::size_t c = 0; c < copies; ++c) {
    const auto copy = static_cast<CopyIndex>(c);
    if (!plan.copies()[c].from_start) continue;
    const auto found = held.find(whole_tensor(copy));
    if (found != held.end()) {
      for (Held& place : found->second) {
        if (place.device == plan.copies()[c].device) buffers_[c] = std::move(place.buffer);
      }
    }
    there_[c] = buffers_[c] != nullptr;
    if (!there_[c]) missing.push_back(copy);
  }
  for (const CopyIndex copy : missing) {
    const auto found = source.find(whole_tensor(copy));
    if (found != source.end()) {
      fill(copy, found->second);
      continue;
    }
    for (const Values* values : {&elsewhere, &std::as_const(backup_)}) {
      const auto saved = values->find(whole_tensor(copy));
      if (saved == values->end()) continue;
      fill(copy, saved->second.data());
      break;
    }
  }
  for (auto& [tensor, places] : held) {
    for (Held& place : places) {
      arenas_[place.device.index()].release(std::move(place.buffer), elements_[tensor.index()]);
    }
  }
  find_renewals();
}

void DeviceMemory::find_renewals() {
  std::map<std::pair<TensorId, DeviceId>, CopyIndex> parameters;
  for (std::size_t c = 0; c < buffers_.size(); ++c) {
    const auto copy = static_cast<CopyIndex>(c);
    if (!plan_->copies()[c].from_start) continue;
    parameters.emplace(std::pair(whole_tensor(copy), plan_->copies()[c].device), copy);
  }
  for (std::size_t c = 0; c < buffers_.size(); ++c) {
    const auto copy = static_cast<CopyIndex>(c);
    const TensorId parameter = whole_->graph().updates(whole_tensor(copy));
    if (!parameter.valid()) continue;
    const auto found = parameters.find(std::pair(parameter, plan_->copies()[c].device));
    if (found != parameters.end()) renewals_.emplace(copy, found->second);
  }
}

void DeviceMemory::fill(CopyIndex copy, const float* from) {
  provide(copy);
  std::copy_n(from, elements(copy), buffers_[copy].get());
  there_[copy] = 1;
}

void DeviceMemory::set(const Values& values) {
  for (const auto& [tensor, value] : values) {
    const std::size_t expected = elements_.empty() ? 0 : elements_[tensor.index()];
    if (expected == 0 || value.size() == expected) continue;
    throw InputError(fmt::format("'{}' has {} elements, not {}",
                                 whole_->graph().tensor_name(tensor), expected, value.size()));
  }
  for (std::size_t c = 0; c < buffers_.size(); ++c) {
    const auto copy = static_cast<CopyIndex>(c);
    if (!stays(copy)) continue;
    const TensorId tensor = whole_tensor(copy);
    if (there_[c] || values.contains(tensor) || backup_.contains(tensor)) continue;
    throw InputError(fmt::format("'{}' has no value", whole_->graph().tensor_name(tensor)));
  }
  // The backup has all of them, also those that no copy of this plan holds.
  if (backed_up_) {
    for (const auto& [tensor, value] : values) {
      if (whole_->graph().role(tensor) != TensorRole::kValue) backup_[tensor] = value;
    }
  }
  for (std::size_t c = 0; c < buffers_.size(); ++c) {
    const auto copy = static_cast<CopyIndex>(c);
    const auto found = stays(copy) ? values.find(whole_tensor(copy)) : values.end();
    if (found != values.end()) fill(copy, found->second.data());  // others keep what they have
  }
}

void DeviceMemory::provide(CopyIndex copy) {
  if (buffers_.empty() || buffers_[copy]) return;
  buffers_[copy] = arenas_[plan_->copies()[copy].device.index()].allocate(elements(copy));
}

void DeviceMemory::release(CopyIndex copy) {
  if (stays(copy)) return;
  there_[copy] = 0;
  if (buffers_.empty()) return;
  arenas_[plan_->copies()[copy].device.index()].release(std::move(buffers_[copy]), elements(copy));
}

void DeviceMemory::drop_results() {
  for (std::size_t c = 0; c < there_.size(); ++c) release(static_cast<CopyIndex>(c));
  renewed_ = false;
}

void DeviceMemory::renew_parameters() {
  for (const auto& [fresh, parameter] : renewals_) std::swap(buffers_[fresh], buffers_[parameter]);
  renewed_ = true;
  if (backed_up_) back_up(results());
}

void DeviceMemory::require_inputs() const {
  for (std::size_t c = 0; c < there_.size(); ++c) {
    const auto copy = static_cast<CopyIndex>(c);
    if (there_[c] || !plan_->copies()[c].from_start) continue;
    throw InputError(
        fmt::format("'{}' has no value", whole_->graph().tensor_name(whole_tensor(copy))));
  }
}

void DeviceMemory::forget() {
  buffers_.clear();
  there_.clear();
  renewals_.clear();
  tensors_.clear();
  plan_ = nullptr;
}

void DeviceMemory::clear() {
  for (std::size_t d = 0; d < arenas_.size(); ++d) lose(DeviceId::of(d));
}

void DeviceMemory::lose(DeviceId device) {
  for (std::size_t c = 0; c < there_.size(); ++c) {
    if (plan_->copies()[c].device != device) continue;
    there_[c] = 0;
    if (!buffers_.empty()) buffers_[c].reset();
  }
  arenas_[device.index()] = Arena(whole_->capacity_bytes(device), whole_->device_count());
}

std::vector<DeviceId> DeviceMemory::holders() const {
  std::vector<DeviceId> holders(whole_->tensor_count());
  for (std::size_t c = 0; c < there_.size(); ++c) {
    DeviceId& holder = holders[whole_tensor(static_cast<CopyIndex>(c)).index()];
    if (there_[c] && !holder.valid()) holder = plan_->copies()[c].device;
  }
  return holders;
}

Values DeviceMemory::results() const {
  Values values;
  const graph::Graph& graph = whole_->graph();
  for (std::size_t c = 0; c < buffers_.size(); ++c) {
    const auto copy = static_cast<CopyIndex>(c);
    const TensorId tensor = whole_tensor(copy);
    if (!there_[c] || values.contains(tensor) || graph.role(tensor) != TensorRole::kValue) continue;
    if (!graph.is_output(tensor) && !graph.updates(tensor).valid()) continue;
    const auto renewal = renewals_.find(copy);
    const bool moved = renewed_ && renewal != renewals_.end();
    const float* from = buffers_[moved ? renewal->second : copy].get();
    if (from) values.emplace(tensor, std::vector<float>(from, from + elements(copy)));
  }
  return values;
}

void DeviceMemory::back_up(const Values& results) {
  for (const auto& [tensor, value] : results) {
    const TensorId parameter = whole_->graph().updates(tensor);
    if (parameter.valid()) backup_[parameter] = value;
  }
}

}  // namespace doppler::exec
