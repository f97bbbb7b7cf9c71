// The inside of an engine: what its threads share. Included by the engine's own files only:
//   engine.cc          what callers ask for, and the life of a run
//   engine_devices.cc  threads of devices whose kernels and copies take the time they take
//   engine_pacing.cc   the thread that keeps time if durations are given
//   engine_losses.cc   lost devices and what runs in their place
//
// Members that are not marked otherwise are guarded by `mutex_`, which is never held while a kernel
// or a long copy runs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "doppler/exec/duration_model.h"
#include "doppler/exec/engine.h"
#include "doppler/exec/remaining_work.h"
#include "doppler/exec/timed_run.h"
#include "doppler/exec/waiting.h"
#include "doppler/kernel/cpu/runnable.h"

namespace doppler::exec {

// A placement of the whole problem, or of what is left of it after a loss, that an engine runs.
// "Whole" ids are those of the engine's problem; other ids are those of its own problem.
struct LoadedPlacement : PreparedPlacement {
  // Throws what PreparedPlacement does. REQUIRES: work is left.
  LoadedPlacement(RemainingWork remaining, schedule::Placement placement,
                  std::shared_ptr<const Backend> backend, DispatchQueue::Rules rules);

  NodeId whole(NodeId node) const { return nodes.empty() ? node : nodes[node.index()]; }
  TensorId whole(TensorId tensor) const {
    return tensors.empty() ? tensor : tensors[tensor.index()];
  }

  const std::shared_ptr<const Backend> backend;
  const std::vector<NodeId> nodes;      // whole ids by node; empty if the ids are the same
  const std::vector<TensorId> tensors;  // whole ids by tensor; likewise
};

// Shared by the engine and its threads, so that a hung thread can outlive the engine.
class Engine::State final : private TimedRun::Host {
 public:
  State(std::shared_ptr<const cost::Problem> problem, EngineOptions options);

  static void start_threads(const std::shared_ptr<State>& state);
  void stop_threads();

  // These carry out the functions of Engine of the same names.
  void load(const schedule::Placement& placement);
  void set(const Values& values);
  schedule::Timeline run(std::uint64_t seed);
  Values results() const;
  double pacing_error() const;
  void lose(DeviceId device);
  std::uint64_t ended_runs() const;
  bool lose_unless_ended(DeviceId device, std::uint64_t runs);
  void restore(DeviceId device);

 private:
  struct Operands {
    std::vector<const float*> inputs;
    std::vector<float*> outputs;
  };
  struct DeviceState {
    NodeId running = {};           // whole id of the node that runs; invalid if none does
    Clock::time_point start = {};  // of that node
    bool idle = false;             // the device's thread waits for its bell
    Operands operands = {};  // of the node that runs; the device's thread reads it without the lock
    // The following are used in paced runs only.
    NodeId node = {};        // the node that runs, as the loaded placement knows it
    bool computing = false;  // the node's kernel has not ended
    bool overdue = false;    // the node's duration has passed while the kernel runs
    double due = 0.0;        // when the node was to end, in the time of `timed_`
  };
  // A transfer of a paced run.
  struct TransferState {
    std::size_t record = 0;  // its position in the timeline
    bool copying = false;    // its values have not arrived
    bool overdue = false;    // its duration has passed while values are copied
    double due = 0.0;        // when it was to end, in the time of `timed_`
  };

  DispatchQueue::Rules rules() const { return {options_.choice, options_.mode}; }
  // Returns whether the backend prescribes durations, so that one thread keeps time.
  bool is_paced() const { return backend_->durations() != nullptr; }
  const std::string& device_name(DeviceId device) const {
    return problem_->topology().device(device).name;
  }

  // --- engine.cc: the life of a run ---
  void enter(std::unique_ptr<LoadedPlacement> loaded, const Values& elsewhere = {});
  void begin();
  void end_run();  // called however a run ends
  void wait_for_end(std::unique_lock<std::mutex>& lock);
  void fail(const std::string& why);
  void refuse_if_broken() const;
  // Returns the time since the start of the run in the unit that the engine reports.
  double time_of(Clock::time_point moment) const {
    return to_seconds(moment - start_) / backend_->time_scale();
  }
  double now() const { return time_of(Clock::now()); }

  // --- engine_devices.cc ---
  void work(DeviceId device);  // body of a device's thread
  void move_data();            // body of the thread that moves data that no device moves
  bool start_something(DeviceId device, std::unique_lock<std::mutex>& lock);
  void wait_for_bell(DeviceId device, std::unique_lock<std::mutex>& lock);
  void run_node(NodeId node, DeviceId device, std::unique_lock<std::mutex>& lock);
  void note_start(NodeId whole, DeviceId device);
  void note_end(NodeId node);  // a node of the loaded placement whose results are there
  void find_operands(NodeId node, Operands& operands);
  std::string execute(NodeId whole, DeviceId device) const;
  bool is_finite(NodeId whole, const std::vector<float*>& outputs) const;
  void move(TransferIndex index, DeviceId self, std::unique_lock<std::mutex>& lock);
  std::size_t record(const Transfer& transfer);
  void copy_values(const Transfer& transfer, std::unique_lock<std::mutex>& lock);
  void note_transfer_end(const Transfer& transfer, std::size_t at);
  void pass_on(DeviceId self);
  void wake_mover(DeviceId self);
  void ring(DeviceId device);
  void ring_all();

  // --- engine_pacing.cc ---
  void keep_time();               // body of the thread that keeps time
  void compute(DeviceId device);  // body of a device's thread
  void copy();                    // body of the thread that copies values
  Clock::time_point wall(double moment) const;
  double moment_now() const;  // the present in the time of `timed_`
  void note_lateness(double planned, double real);
  void abandon_nodes();
  double node_starts(NodeId node, DeviceId device, double now) override;
  double transfer_starts(TransferIndex transfer, std::uint32_t others, double now) override;
  bool node_ends(NodeId node, double now) override;
  bool transfer_ends(TransferIndex transfer, double now) override;
  void copies_released(std::span<const CopyIndex> copies) override;

  // --- engine_losses.cc ---
  void lose_now(DeviceId device);
  void require_a_device() const;
  bool uses_lost_device(const schedule::Placement& placement) const;
  void refuse_lost_devices(const schedule::Placement& placement) const;
  bool replace_remaining(std::unique_lock<std::mutex>& lock);
  void replace_whole(std::unique_lock<std::mutex>& lock);
  std::unique_ptr<LoadedPlacement> placed_anew(RemainingWork remaining) const;
  bool is_result(TensorId tensor) const;

  const std::shared_ptr<const cost::Problem> problem_;
  const EngineOptions options_;
  const std::shared_ptr<const Backend> backend_;
  std::vector<std::unique_ptr<kernel::cpu::Runnable<float>>> kernels_;  // immutable
  std::vector<std::thread> threads_;
  std::vector<std::atomic<std::uint32_t>> bells_;  // by device: counts up when there may be work

  mutable std::mutex mutex_;
  std::condition_variable links_, timer_, ended_;
  std::vector<DeviceState> devices_;
  std::vector<std::uint8_t> lost_;  // by device
  DeviceMemory memory_;
  std::unique_ptr<LoadedPlacement> loaded_;  // null if no placement is loaded
  bool stale_ = false;         // `loaded_` is of remaining work and cannot serve the next run
  bool devices_move_ = false;  // idle devices move data
  schedule::Timeline timeline_;
  Clock::time_point start_;   // when the run started
  Clock::time_point origin_;  // when `loaded_` started, from which the times of `timed_` count
  std::uint64_t seed_ = 0;
  std::size_t executing_ = 0;  // nodes, and copies made without the lock, that have not ended
  std::uint64_t ended_runs_ = 0;
  bool running_ = false;     // a run is going on, though it may pause for a new placement
  bool active_ = false;      // nodes and transfers may start
  bool loss_ = false;        // a device was lost during the run and not yet replaced
  bool complete_ = false;    // the last run has all its results
  bool stopping_ = false;    // threads are to end
  std::string failure_;      // why the run fails; empty if it does not
  std::string broken_;       // why there can be no more runs; empty if there can
  std::string lost_result_;  // the device that was lost with results after the run
  std::vector<std::uint8_t> ended_nodes_;  // by node of the whole graph
  // After a loss: the values of results that were there, and which results these are, so that they
  // are also known if there are no values.
  std::optional<Values> migrated_results_;
  std::vector<std::uint8_t> saved_;  // by tensor of the whole graph

  // The following are used in paced runs only.
  std::optional<TimedRun> timed_;
  std::vector<TransferState> transfers_;  // by transfer of the loaded placement
  std::deque<TransferIndex> to_copy_;
  double pacing_error_ = 0.0;  // seconds
};

}  // namespace doppler::exec
