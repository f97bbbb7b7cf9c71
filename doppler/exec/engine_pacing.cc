// The part of an engine that runs graphs whose durations are given. One thread keeps time and
// decides, moment after moment, what ends and what starts. It waits for moments of the plan, so
// that waking up late shifts nothing and changes no order. Values, if they are asked for, are
// computed and copied by other threads meanwhile; a node or a transfer whose values take longer
// than its duration ends late.
#include <algorithm>
#include <new>
#include <optional>
#include <string>

#include "doppler/exec/engine_state.h"

namespace doppler::exec {

Clock::time_point Engine::State::wall(double moment) const {
  return origin_ + seconds(moment * backend_->time_scale());
}

double Engine::State::moment_now() const {
  return to_seconds(Clock::now() - origin_) / backend_->time_scale();
}

// Keeps the greatest lateness of the run. `planned` is in the time of `timed_`; `real` is what the
// timeline says, which a thread that was put aside may write down late.
void Engine::State::note_lateness(double planned, double real) {
  const Clock::time_point reported = start_ + seconds(real * backend_->time_scale());
  pacing_error_ = std::max(pacing_error_, to_seconds(reported - wall(planned)));
}

void Engine::State::keep_time() {
  make_timers_precise();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (timed_ && !active_) abandon_nodes();
    const std::optional<double> next = timed_ ? timed_->next() : std::nullopt;
    if (!next) {
      timer_.wait(lock);
    } else if (Clock::now() < wall(*next)) {
      timer_.wait_until(lock, wall(*next));
    } else if (!active_) {
      timed_->end_only();
    } else {
      try {
        timed_->advance();
      } catch (const std::bad_alloc&) {
        fail("not enough memory");
      }
      if (loaded_->queue.left() == 0) ended_.notify_one();
    }
  }
}

// Ends at once the nodes whose device was lost, and all nodes of a run that has failed: nobody
// waits for the time that they would take.
void Engine::State::abandon_nodes() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    DeviceState& device = devices_[d];
    if (!device.running.valid() || device.computing) continue;
    if (failure_.empty() && !lost_[d]) continue;
    device.running = {};
    --executing_;
  }
  ended_.notify_one();
}

double Engine::State::node_starts(NodeId node, DeviceId device, double now) {
  DeviceState& state = devices_[device.index()];
  find_operands(node, state.operands);
  const NodeId whole = loaded_->whole(node);
  note_start(whole, device);
  note_lateness(now, timeline_.nodes[whole.index()].start);
  state.node = node;
  state.overdue = false;
  state.computing = options_.computes;
  if (state.computing) ring(device);
  return loaded_->backend->durations()->node_time(node, device, seed_);
}

bool Engine::State::node_ends(NodeId node, double now) {
  const DeviceId device = loaded_->placement.device[node.index()];
  DeviceState& state = devices_[device.index()];
  if (!state.running.valid() || state.node != node) return false;  // it was abandoned
  if (state.computing) {
    state.overdue = true;
    state.due = now;
    return false;
  }
  if (!active_ && (!failure_.empty() || lost_[device.index()])) return false;
  note_end(node);
  note_lateness(state.overdue ? state.due : now, timeline_.nodes[state.running.index()].end);
  state.running = {};
  --executing_;
  if (!active_) ended_.notify_one();
  return active_;
}

void Engine::State::compute(DeviceId device) {
  DeviceState& state = devices_[device.index()];
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!state.computing) {
      wait_for_bell(device, lock);
      continue;
    }
    const NodeId whole = state.running;
    lock.unlock();
    const std::string error = execute(whole, device);
    lock.lock();
    state.computing = false;
    if (!error.empty()) fail(error);
    if (!timed_) continue;  // the run ended without it
    if (state.overdue) timed_->postpone_node(state.node, moment_now());
    if (state.overdue || !active_) timer_.notify_one();
  }
}

double Engine::State::transfer_starts(TransferIndex index, std::uint32_t others, double now) {
  const Transfer& transfer = loaded_->transfer_plan.transfers()[index];
  transfers_[index].record = record(transfer);
  note_lateness(now, timeline_.transfers[transfers_[index].record].start);
  if (options_.computes) {
    transfers_[index].copying = true;
    to_copy_.push_back(index);
    ++executing_;
    links_.notify_one();
  }
  return loaded_->backend->durations()->transfer_time(transfer, others, seed_);
}

bool Engine::State::transfer_ends(TransferIndex index, double now) {
  if (!active_) return false;
  TransferState& state = transfers_[index];
  if (state.copying) {
    state.overdue = true;
    state.due = now;
    return false;
  }
  note_transfer_end(loaded_->transfer_plan.transfers()[index], state.record);
  note_lateness(state.overdue ? state.due : now, timeline_.transfers[state.record].end);
  return true;
}

void Engine::State::copy() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (to_copy_.empty()) {
      links_.wait(lock);
      continue;
    }
    const TransferIndex index = to_copy_.front();
    to_copy_.pop_front();
    if (active_) copy_values(loaded_->transfer_plan.transfers()[index], lock);
    --executing_;
    if (!active_) {
      ended_.notify_one();
      continue;
    }
    transfers_[index].copying = false;
    if (transfers_[index].overdue) {
      timed_->postpone_transfer(index, moment_now());
      timer_.notify_one();
    }
  }
}

void Engine::State::copies_released(std::span<const CopyIndex> copies) {
  for (const CopyIndex copy : copies) memory_.release(copy);
}

}  // namespace doppler::exec
