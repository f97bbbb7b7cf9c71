// The part of an engine that deals with lost devices: what is lost with them, and the placement of
// what is left on the others.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/exec/engine_state.h"

namespace doppler::exec {
namespace {

// Gives the lock away for its lifetime.
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
  lose_now(device);
}

std::uint64_t Engine::State::ended_runs() const {
  const std::lock_guard lock(mutex_);
  return ended_runs_;
}

bool Engine::State::lose_unless_ended(DeviceId device, std::uint64_t runs) {
  const std::lock_guard lock(mutex_);
  if (ended_runs_ > runs) return false;
  lose_now(device);
  return true;
}

// REQUIRES: the lock is held.
void Engine::State::lose_now(DeviceId device) {
  DOPPLER_CHECK(device.index() < lost_.size());
  if (std::exchange(lost_[device.index()], std::uint8_t{1})) return;
  if (!running_) {
    // A hung node may still use its memory.
    if (!loaded_ || !broken_.empty()) return;
    const std::size_t results = migrated_results_ ? 0 : memory_.results().size();
    memory_.lose(device);
    if (!migrated_results_ && memory_.results().size() < results) {
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
  if (!loaded_) return;
  // Its memory is empty: what it had comes from the backup or has to be set again.
  if (options_.replace) stale_ = true;
  if (!options_.computes) memory_.arrange(loaded_->transfer_plan, loaded_->tensors);
}

void Engine::State::require_a_device() const {
  if (std::find(lost_.begin(), lost_.end(), std::uint8_t{0}) == lost_.end()) {
    throw RunError("all devices are lost");
  }
}

bool Engine::State::uses_lost_device(const schedule::Placement& placement) const {
  return std::any_of(placement.device.begin(), placement.device.end(),
                     [&](DeviceId device) { return lost_[device.index()] != 0; });
}

void Engine::State::refuse_lost_devices(const schedule::Placement& placement) const {
  for (const DeviceId device : placement.device) {
    if (!lost_[device.index()]) continue;
    throw RunError(fmt::format("the placement uses {}, which is lost", device_name(device)));
  }
}

// Continues a run after a loss, once everything that still ran has ended: places what is left on
// the remaining devices and starts that, unless another device is lost meanwhile. Returns false if
// nothing is left to run.
bool Engine::State::replace_remaining(std::unique_lock<std::mutex>& lock) {
  loss_ = false;
  for (std::size_t d = 0; d < lost_.size(); ++d) {
    if (lost_[d]) memory_.lose(DeviceId::of(d));
  }
  // Transfers that were under way have moved nothing.
  std::erase_if(timeline_.transfers, [](const auto& transfer) { return transfer.end <= 0.0; });
  if (!migrated_results_) migrated_results_.emplace();
  require_a_device();
  migrated_results_->merge(memory_.results());
  const std::vector<DeviceId> holders = memory_.holders();
  std::vector<std::uint8_t> available(holders.size());
  for (std::size_t t = 0; t < holders.size(); ++t) {
    if (holders[t].valid() && is_result(TensorId::of(t))) saved_[t] = 1;
    available[t] = holders[t].valid() || saved_[t];
  }
  RemainingWork remaining =
      find_remaining_work(*problem_, ended_nodes_, {available, holders}, lost_);
  if (!remaining.problem) return false;
  std::unique_ptr<LoadedPlacement> loaded;
  {
    const Unlocked unlocked(lock);
    loaded = placed_anew(std::move(remaining));
  }
  if (loss_) return true;
  for (std::size_t v = 0; v < loaded->nodes.size(); ++v) {
    const std::size_t whole = loaded->nodes[v].index();
    timeline_.device[whole] = loaded->placement.device[v];
    timeline_.priority[whole] = loaded->placement.priority[v];
    ended_nodes_[whole] = 0;
  }
  enter(std::move(loaded), *migrated_results_);
  begin();
  return true;
}

// Places everything anew on the devices that are left and loads that.
void Engine::State::replace_whole(std::unique_lock<std::mutex>& lock) {
  require_a_device();
  const std::vector<std::uint8_t> none(problem_->node_count(), 0);
  const std::vector<std::uint8_t> nothing(problem_->tensor_count(), 0);
  const std::vector<DeviceId> nowhere(problem_->tensor_count());
  const RemainingWork all = find_remaining_work(*problem_, none, {nothing, nowhere}, lost_);
  std::unique_ptr<LoadedPlacement> loaded;
  {
    const Unlocked unlocked(lock);
    loaded = std::make_unique<LoadedPlacement>(RemainingWork{problem_},
                                               options_.replace(*all.problem), backend_, rules());
  }
  enter(std::move(loaded));
}

std::unique_ptr<LoadedPlacement> Engine::State::placed_anew(RemainingWork remaining) const {
  schedule::Placement placement = options_.replace(*remaining.problem);
  std::shared_ptr<const Backend> backend =
      make_backend(options_.backend, *remaining.problem, options_.machine);
  return std::make_unique<LoadedPlacement>(std::move(remaining), std::move(placement),
                                           std::move(backend), rules());
}

bool Engine::State::is_result(TensorId tensor) const {
  const graph::Graph& graph = problem_->graph();
  return graph.role(tensor) == graph::TensorRole::kValue &&
         (graph.is_output(tensor) || graph.updates(tensor).valid());
}

}  // namespace doppler::exec
