// The part of an engine that runs kernels and copies which take the time they take, and what paced
// runs have in common with it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>

#include "doppler/exec/engine_state.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/cpu/strided_copy.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::exec {
namespace {

// So few elements are copied in less time than giving the lock away and taking it again costs.
constexpr std::size_t kFewElements = 256;

}  // namespace

// --- signals ---

void Engine::State::ring(DeviceId device) {
  bells_[device.index()].fetch_add(1, std::memory_order_release);
  bells_[device.index()].notify_one();
}

void Engine::State::ring_all() {
  for (std::size_t d = 0; d < bells_.size(); ++d) ring(DeviceId::of(d));
  links_.notify_one();
  timer_.notify_one();
  ended_.notify_one();
}

// Wakes whoever may go on after something ended. `self`, if valid, is about to look by itself.
void Engine::State::pass_on(DeviceId self) {
  DispatchQueue& queue = loaded_->queue;
  for (const CopyIndex copy : queue.released()) memory_.release(copy);
  queue.forget_released();
  for (const DeviceId device : queue.touched()) {
    if (device != self && queue.is_ready(device)) ring(device);
  }
  queue.forget_touched();
  if (!devices_move_ && queue.has_waiting_transfers()) links_.notify_one();
  if (queue.left() == 0) ended_.notify_one();
}

// Wakes another idle device to move what `self`, now busy, cannot, if devices move data.
void Engine::State::wake_mover(DeviceId self) {
  if (!devices_move_ || !loaded_->queue.may_start_transfer()) return;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (!devices_[d].idle || lost_[d] || DeviceId::of(d) == self) continue;
    ring(DeviceId::of(d));
    return;
  }
  links_.notify_one();
}

void Engine::State::wait_for_bell(DeviceId device, std::unique_lock<std::mutex>& lock) {
  std::atomic<std::uint32_t>& bell = bells_[device.index()];
  const std::uint32_t heard = bell.load(std::memory_order_acquire);
  devices_[device.index()].idle = true;
  lock.unlock();
  if (backend_->devices_have_cores()) watch(bell, heard);
  bell.wait(heard, std::memory_order_acquire);
  lock_soon(lock);
  devices_[device.index()].idle = false;
}

// --- nodes ---

void Engine::State::work(DeviceId device) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (active_ && !lost_[device.index()]) {
      try {
        if (start_something(device, lock)) continue;
      } catch (const std::bad_alloc&) {  // for buffers, so that the lock is held
        fail(fmt::format("{}: not enough memory", device_name(device)));
      }
    }
    wait_for_bell(device, lock);
  }
}

// Returns false if there is nothing to do.
bool Engine::State::start_something(DeviceId device, std::unique_lock<std::mutex>& lock) {
  if (const NodeId node = loaded_->queue.start_node(device); node.valid()) {
    run_node(node, device, lock);
    return true;
  }
  if (!devices_move_) return false;
  const auto transfer = loaded_->queue.start_transfer();
  if (!transfer) return false;
  wake_mover(device);
  move(*transfer, device, lock);
  return true;
}

void Engine::State::run_node(NodeId node, DeviceId device, std::unique_lock<std::mutex>& lock) {
  const NodeId whole = loaded_->whole(node);
  wake_mover(device);
  find_operands(node, devices_[device.index()].operands);
  note_start(whole, device);
  lock.unlock();
  const std::string error = execute(whole, device);
  lock_soon(lock);
  --executing_;
  devices_[device.index()].running = {};
  if (!error.empty()) return fail(error);
  if (active_ || (loss_ && !lost_[device.index()])) note_end(node);
  if (!active_) return ended_.notify_one();  // the run is over, or waits for what still runs
  loaded_->queue.node_ended(node, timeline_.nodes[whole.index()].end);
  pass_on(device);
}

void Engine::State::note_start(NodeId whole, DeviceId device) {
  ++executing_;
  DeviceState& state = devices_[device.index()];
  state.running = whole;
  state.start = Clock::now();
  timeline_.nodes[whole.index()].start = time_of(state.start);
}

void Engine::State::note_end(NodeId node) {
  const std::size_t whole = loaded_->whole(node).index();
  timeline_.nodes[whole].end = now();
  timeline_.makespan = std::max(timeline_.makespan, timeline_.nodes[whole].end);
  ended_nodes_[whole] = 1;
  for (const CopyIndex copy : loaded_->transfer_plan.results(node)) memory_.arrived(copy);
}

void Engine::State::find_operands(NodeId node, Operands& operands) {
  if (!options_.computes) return;
  operands.inputs.clear();
  operands.outputs.clear();
  for (const CopyIndex copy : loaded_->transfer_plan.operands(node)) {
    operands.inputs.push_back(memory_.data(copy));
  }
  for (const CopyIndex copy : loaded_->transfer_plan.results(node)) {
    memory_.provide(copy);
    operands.outputs.push_back(memory_.data(copy));
  }
}

// Runs the kernel of a node, without the lock. Returns what went wrong, or an empty string.
std::string Engine::State::execute(NodeId whole, DeviceId device) const {
  const Operands& operands = devices_[device.index()].operands;
  const auto failed = [&](const char* why) {
    return fmt::format("node '{}' on {}: {}", problem_->graph().node_name(whole),
                       device_name(device), why);
  };
  try {
    kernels_[whole.index()]->run(operands.inputs, operands.outputs);
  } catch (const std::exception& error) {
    return failed(error.what());
  }
  if (options_.check_finite && !is_finite(whole, operands.outputs)) {
    return failed("a result is not a finite number");
  }
  return {};
}

bool Engine::State::is_finite(NodeId whole, const std::vector<float*>& outputs) const {
  const auto& shapes = problem_->graph().kernel_call(whole)->outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const float* end = outputs[i] + kernel::element_count(shapes[i]);
    if (!std::all_of(const_cast<const float*>(outputs[i]), end,
                     [](float value) { return std::isfinite(value); })) {
      return false;
    }
  }
  return true;
}

// --- transfers ---

void Engine::State::move_data() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto transfer = active_ ? loaded_->queue.start_transfer() : std::nullopt;
    if (transfer) {
      move(*transfer, {}, lock);
    } else {
      links_.wait(lock);
    }
  }
}

void Engine::State::move(TransferIndex index, DeviceId self, std::unique_lock<std::mutex>& lock) {
  const Transfer& transfer = loaded_->transfer_plan.transfers()[index];
  const std::size_t at = record(transfer);
  copy_values(transfer, lock);
  if (!active_) return ended_.notify_one();
  note_transfer_end(transfer, at);
  loaded_->queue.transfer_ended(index, timeline_.transfers[at].end);
  pass_on(self);
}

// Notes the start of a transfer and returns its position in the timeline.
std::size_t Engine::State::record(const Transfer& transfer) {
  timeline_.transfers.push_back(
      {loaded_->whole(transfer.tensor),
       transfer.consumer.valid() ? loaded_->whole(transfer.consumer) : NodeId(), transfer.from,
       transfer.to, now(), 0.0});
  return timeline_.transfers.size() - 1;
}

void Engine::State::note_transfer_end(const Transfer& transfer, std::size_t at) {
  timeline_.transfers[at].end = now();
  timeline_.makespan = std::max(timeline_.makespan, timeline_.transfers[at].end);
  memory_.arrived(transfer.target);
}

void Engine::State::copy_values(const Transfer& transfer, std::unique_lock<std::mutex>& lock) {
  if (!options_.computes || memory_.data(transfer.target)) return;
  try {
    memory_.provide(transfer.target);
  } catch (const std::bad_alloc&) {
    fail(fmt::format("{}: not enough memory", device_name(transfer.to)));
    return;
  }
  const float* from = memory_.data(transfer.source);
  float* to = memory_.data(transfer.target);
  const std::size_t elements = memory_.elements(transfer.target);
  if (elements <= kFewElements) {
    kernel::cpu::copy_elements(from, to, elements);
    return;
  }
  ++executing_;
  lock.unlock();
  kernel::cpu::copy_elements(from, to, elements);
  lock_soon(lock);
  --executing_;
}

}  // namespace doppler::exec
