// Lost devices, and what runs in their place.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/exec/engine_state.h"

namespace doppler::exec {

namespace {

class Unlocked {
 public:
  explicit Unlocked(std::unique_lock<std::mutex>& lock) : lock_(lock) { lock_.unlock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() { lock_.lock(); }

 private:
  std::unique_lock<std::mutex>& lock_;
};

}  // namespace

void Engine::State::lose(DeviceId device) {
  const std::lock_guard lock(mutex_);
  DOPPLER_CHECK(device.index() < lost_.size());
  if (std::exchange(lost_[device.index()], std::uint8_t{1})) return;
  if (!running_) {
    // A hung node may still use its memory.
    if (!session_ || !broken_.empty()) return;
    const std::size_t results = migrated_results_ ? 0 : store_.results().size();
    store_.lose(device);
    if (!migrated_results_ && store_.results().size() < results) {
      lost_result_ = device_name(device);
    }
    return;
  }
  loss_ = true;
  active_ = false;
  if (!options_.replace && failure_.empty()) {
    failure_ = fmt::format("{} was lost during the run", device_name(device));
  }
  timer_.notify_one();
  ended_.notify_one();
}

void Engine::State::restore(DeviceId device) {
  const std::lock_guard lock(mutex_);
  DOPPLER_CHECK(device.index() < lost_.size() && !running_);
  lost_[device.index()] = 0;
  if (!session_) return;
  // Its memory is empty: what it had comes from the backup, or has to be set.
  if (options_.replace) stale_ = true;
  if (!options_.computes) store_.arrange(session_->wiring, session_->tensors);
}

void Engine::State::require_a_device() const {
  if (std::find(lost_.begin(), lost_.end(), std::uint8_t{0}) == lost_.end()) {
    throw InfeasibleError("all devices are lost");
  }
}

bool Engine::State::uses_lost_device(const schedule::Placement& placement) const {
  return std::any_of(placement.device.begin(), placement.device.end(),
                     [&](DeviceId device) { return lost_[device.index()] != 0; });
}

void Engine::State::refuse_lost_devices(const schedule::Placement& placement) const {
  for (const DeviceId device : placement.device) {
    if (!lost_[device.index()]) continue;
    throw InfeasibleError(fmt::format("the placement uses {}, which is lost", device_name(device)));
  }
}

// After a loss, when everything that still ran has ended: goes on with what is left, on the devices
// that are, unless another one is lost meanwhile. False where nothing is left.
bool Engine::State::replace_rest(std::unique_lock<std::mutex>& lock) {
  loss_ = false;
  for (std::size_t d = 0; d < lost_.size(); ++d) {
    if (lost_[d]) store_.lose(DeviceId::of(d));
  }
  // Transfers that were under way came to nothing.
  std::erase_if(timeline_.transfers, [](const auto& transfer) { return transfer.end <= 0.0; });
  if (!migrated_results_) migrated_results_.emplace();
  require_a_device();
  migrated_results_->merge(store_.results());
  const std::vector<DeviceId> holders = store_.holders();
  std::vector<std::uint8_t> available(holders.size());
  for (std::size_t t = 0; t < holders.size(); ++t) {
    if (holders[t].valid() && is_result(TensorId::of(t))) saved_[t] = 1;
    available[t] = holders[t].valid() || saved_[t];
  }
  RemainingWork rest = find_rest(*problem_, ended_nodes_, {available, holders}, lost_);
  if (!rest.problem) return false;
  std::unique_ptr<Session> session;
  {
    const Unlocked unlocked(lock);
    session = make_session(std::move(rest));
  }
  if (loss_) return true;
  for (std::size_t v = 0; v < session->nodes.size(); ++v) {
    const std::size_t whole = session->nodes[v].index();
    timeline_.device[whole] = session->placement.device[v];
    timeline_.priority[whole] = session->placement.priority[v];
    ended_nodes_[whole] = 0;
  }
  enter(std::move(session), *migrated_results_);
  begin();
  return true;
}

// A placement of everything on the devices that are left.
void Engine::State::replace_whole(std::unique_lock<std::mutex>& lock) {
  require_a_device();
  const std::vector<std::uint8_t> none(problem_->node_count(), 0);
  const std::vector<std::uint8_t> nothing(problem_->tensor_count(), 0);
  const std::vector<DeviceId> nowhere(problem_->tensor_count());
  const RemainingWork all = find_rest(*problem_, none, {nothing, nowhere}, lost_);
  std::unique_ptr<Session> session;
  {
    const Unlocked unlocked(lock);
    session = std::make_unique<Session>(RemainingWork{problem_}, options_.replace(*all.problem),
                                        backend_, rules());
  }
  enter(std::move(session));
}

std::unique_ptr<Session> Engine::State::make_session(RemainingWork rest) const {
  schedule::Placement placement = options_.replace(*rest.problem);
  std::shared_ptr<const Backend> backend =
      make_backend(options_.backend, *rest.problem, options_.machine);
  return std::make_unique<Session>(std::move(rest), std::move(placement), std::move(backend),
                                   rules());
}

bool Engine::State::is_result(TensorId tensor) const {
  const graph::Graph& graph = problem_->graph();
  return graph.role(tensor) == graph::TensorRole::kValue &&
         (graph.is_output(tensor) || graph.updates(tensor).valid());
}

// Runs whose durations are given. One thread keeps time and decides, moment after moment, what ends
// and what starts; it waits for moments of the plan, so that waking up late shifts nothing and
// changes no order. Values, where they are asked for, are computed and copied by other threads
// meanwhile; what takes them longer than it should ends late.

Clock::time_point Engine::State::wall(double moment) const {
  return origin_ + seconds(moment * backend_->time_scale());
}

double Engine::State::moment_now() const {
  return to_seconds(Clock::now() - origin_) / backend_->time_scale();
}

// `real`: what the timeline says, which a thread that was put aside may write down late.
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
      if (session_->core.left() == 0) ended_.notify_one();
    }
  }
}

// Nodes whose device was lost, and all of a run that has failed, do not take their time.
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
  const NodeId whole = session_->whole(node);
  note_start(whole, device);
  note_lateness(now, timeline_.nodes[whole.index()].start);
  state.node = node;
  state.overdue = false;
  state.computing = options_.computes;
  if (state.computing) ring(device);
  return session_->backend->pace()->node_time(node, device, seed_);
}

bool Engine::State::node_ends(NodeId node, double now) {
  const DeviceId device = session_->placement.device[node.index()];
  DeviceState& state = devices_[device.index()];
  if (!state.running.valid() || state.node != node) return false;  // abandoned
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
    if (!timed_) continue;  // nobody waited for it
    if (state.overdue) timed_->postpone_node(state.node, moment_now());
    if (state.overdue || !active_) timer_.notify_one();
  }
}

double Engine::State::transfer_starts(TransferIndex index, std::uint32_t others, double now) {
  const Transfer& transfer = session_->wiring.transfers()[index];
  transfers_[index].record = record(transfer);
  note_lateness(now, timeline_.transfers[transfers_[index].record].start);
  if (options_.computes) {
    transfers_[index].copying = true;
    to_copy_.push_back(index);
    ++executing_;
    links_.notify_one();
  }
  return session_->backend->pace()->transfer_time(transfer, others, seed_);
}

bool Engine::State::transfer_ends(TransferIndex index, double now) {
  if (!active_) return false;
  TransferState& state = transfers_[index];
  if (state.copying) {
    state.overdue = true;
    state.due = now;
    return false;
  }
  note_transfer_end(session_->wiring.transfers()[index], state.record);
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
    if (active_) copy_values(session_->wiring.transfers()[index], lock);
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
  for (const CopyIndex copy : copies) store_.release(copy);
}

}  // namespace doppler::exec
