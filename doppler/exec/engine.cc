#include "doppler/exec/engine.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/exec/arena.h"
#include "doppler/exec/core.h"
#include "doppler/exec/start_order.h"
#include "doppler/exec/wiring.h"
#include "doppler/kernel/cpu/gemm.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/shape.h"

namespace doppler::exec {
namespace {

using Clock = std::chrono::steady_clock;

// Sleeps end when asked for, not up to 50 us later as is Linux' default for threads.
void make_timers_precise() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

// To a core of its own where there are enough for all devices.
void pin_thread(std::size_t number, std::size_t threads) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  if (static_cast<std::size_t>(CPU_COUNT(&allowed)) < threads) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || number-- > 0) continue;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cpu, &own);
    pthread_setaffinity_np(pthread_self(), sizeof own, &own);
    return;
  }
}

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

}  // namespace

// Everything that the threads share. Whatever is not marked otherwise is guarded by `mutex_`.
class Engine::State {
 public:
  State(std::shared_ptr<const cost::Problem> problem, EngineOptions options)
      : problem_(std::move(problem)),
        options_(std::move(options)),
        bells_(problem_->device_count()) {
    if (!(options_.time_scale > 0.0) || !std::isfinite(options_.time_scale)) {
      throw ParameterError(fmt::format("a time scale of {} is not positive", options_.time_scale));
    }
    if (!options_.computes && options_.machine == Machine::kThreads) {
      throw ParameterError("kernels of this machine's own devices always compute");
    }
    if (options_.machine == Machine::kThreads) check_devices();
    if (options_.machine == Machine::kEmulated) pace_.emplace(*problem_, options_.deviation);
    if (options_.machine == Machine::kThreads) kernel::cpu::use_one_blas_thread();
    if (options_.computes) {
      runner_ = std::make_unique<graph::SerialRunner<float>>(problem_->graph());
      for (std::size_t v = 0; v < problem_->node_count(); ++v) {
        kernels_.push_back(kernel::cpu::bind<float>(*problem_->graph().kernel_call(NodeId::of(v))));
      }
    }
    for (std::size_t d = 0; d < problem_->device_count(); ++d) {
      arenas_.emplace_back(problem_->capacity_bytes(DeviceId::of(d)));
    }
    running_.resize(problem_->device_count());
  }

  static void start_threads(const std::shared_ptr<State>& state) {
    for (std::size_t d = 0; d < state->problem_->device_count(); ++d) {
      state->threads_.emplace_back([state, d] { state->work(DeviceId::of(d)); });
    }
    state->threads_.emplace_back([state] { state->move_data(); });
  }

  void stop_threads() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      ring_all();
    }
    for (std::thread& thread : threads_) broken_.empty() ? thread.join() : thread.detach();
  }

  void load(const schedule::Placement& placement) {
    schedule::check_placement(*problem_, placement);
    auto wiring = std::make_unique<Wiring>(*problem_, placement);
    StartOrder order = find_start_order(*problem_, placement, *wiring, options_.mode);
    const std::lock_guard lock(mutex_);
    std::vector<Arena::Buffer> old = std::exchange(buffers_, {});
    const std::unique_ptr<Wiring> old_wiring = std::exchange(wiring_, std::move(wiring));
    placement_ = placement;
    order_ = std::move(order);
    core_ = std::make_unique<Core>(*problem_, placement_, *wiring_,
                                   Core::Rules{options_.choice, options_.mode}, &order_);
    if (!options_.computes) return;
    buffers_.resize(wiring_->copies().size());
    if (old_wiring) keep_values(*old_wiring, old);
    find_renewals();
  }

  void set(const Values& values) {
    const std::lock_guard lock(mutex_);
    DOPPLER_CHECK(wiring_ != nullptr);
    for (std::size_t c = 0; c < wiring_->copies().size(); ++c) {
      const Copy& copy = wiring_->copies()[c];
      if (problem_->graph().role(copy.tensor) == graph::TensorRole::kValue) continue;
      if (!copy.from_start) continue;
      const auto found = values.find(copy.tensor);
      if (found == values.end()) {
        if (buffers_[c]) continue;  // keeps what it has
        throw InputError(
            fmt::format("'{}' has no value", problem_->graph().tensor_name(copy.tensor)));
      }
      if (found->second.size() != elements(copy.tensor)) {
        throw InputError(fmt::format("'{}' has {} elements, not {}",
                                     problem_->graph().tensor_name(copy.tensor),
                                     elements(copy.tensor), found->second.size()));
      }
      provide(static_cast<CopyIndex>(c));
      std::copy(found->second.begin(), found->second.end(), buffers_[c].get());
    }
  }

  schedule::Timeline run(std::uint64_t seed) {
    std::unique_lock lock(mutex_);
    DOPPLER_CHECK(core_ != nullptr);
    if (!broken_.empty()) {
      throw InfeasibleError("the engine cannot run any more: " + broken_);
    }
    drop_last_results();
    failure_.clear();
    pacing_error_ = 0.0;
    seed_ = seed;
    timeline_ = {.mode = options_.mode,
                 .choice = options_.choice,
                 .device = placement_.device,
                 .priority = placement_.priority,
                 .nodes = std::vector<schedule::NodeRun>(problem_->node_count()),
                 .transfers = {}};
    core_->begin(seed);
    ++runs_;
    active_ = true;
    start_ = Clock::now();
    ring_all();
    wait_for_end(lock);
    active_ = false;
    if (!failure_.empty()) throw InfeasibleError(failure_);
    if (options_.computes) renew_parameters();
    return std::move(timeline_);
  }

  Values results() const {
    const std::lock_guard lock(mutex_);
    Values values;
    if (!options_.computes || !wiring_) return values;
    const graph::Graph& graph = problem_->graph();
    for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
      const TensorId tensor = TensorId::of(t);
      const bool value = graph.role(tensor) == graph::TensorRole::kValue;
      if (!value || (!graph.is_output(tensor) && !graph.updates(tensor).valid())) continue;
      const CopyIndex made = wiring_->origin(tensor);
      const auto renewal = renewals_.find(made);
      const float* from = buffers_[renewal != renewals_.end() ? renewal->second : made].get();
      if (from) values.emplace(tensor, std::vector<float>(from, from + elements(tensor)));
    }
    return values;
  }

  double pacing_error() const {
    const std::lock_guard lock(mutex_);
    return pacing_error_;
  }

 private:
  void check_devices() const {
    const device::Topology& topology = problem_->topology();
    for (const device::Device& device : topology.devices()) {
      if (topology.kinds()[device.kind].device_class == device::DeviceClass::kCpu) continue;
      throw ParameterError(
          fmt::format("{} is no core of this machine: run on cpu:N, or emulate", device.name));
    }
  }

  struct Moving {  // a transfer under way
    Clock::time_point end;
    TransferIndex transfer;
    std::size_t record;  // in the timeline
  };
  struct Running {
    NodeId node = {};
    Clock::time_point start = {};
  };

  std::size_t elements(TensorId tensor) const {
    return static_cast<std::size_t>(kernel::element_count(*runner_->shape(tensor)));
  }
  void provide(CopyIndex copy) {
    if (buffers_[copy]) return;
    const Copy& made = wiring_->copies()[copy];
    buffers_[copy] = arenas_[made.device.index()].allocate(elements(made.tensor));
  }
  void give_back(CopyIndex copy) {
    const Copy& freed = wiring_->copies()[copy];
    // Inputs stay for the next run.
    if (freed.from_start || buffers_.empty()) return;
    arenas_[freed.device.index()].release(std::move(buffers_[copy]), elements(freed.tensor));
  }

  // Values from before a change of placement: the buffer itself where the device is the same.
  void keep_values(const Wiring& old_wiring, std::vector<Arena::Buffer>& old) {
    std::unordered_map<TensorId, std::vector<std::size_t>> old_copies;
    for (std::size_t o = 0; o < old.size(); ++o) {
      if (old_wiring.copies()[o].from_start && old[o]) {
        old_copies[old_wiring.copies()[o].tensor].push_back(o);
      }
    }
    // Where each value now lies, for devices that did not have it.
    std::unordered_map<TensorId, const float*> value;
    for (const auto& [tensor, copies] : old_copies) value[tensor] = old[copies.front()].get();
    for (std::size_t c = 0; c < buffers_.size(); ++c) {
      const Copy& copy = wiring_->copies()[c];
      const auto found = old_copies.find(copy.tensor);
      if (!copy.from_start || found == old_copies.end()) continue;
      for (const std::size_t o : found->second) {
        if (old_wiring.copies()[o].device == copy.device) buffers_[c] = std::move(old[o]);
      }
    }
    for (std::size_t c = 0; c < buffers_.size(); ++c) {
      const Copy& copy = wiring_->copies()[c];
      if (!copy.from_start || buffers_[c] || !value.contains(copy.tensor)) continue;
      provide(static_cast<CopyIndex>(c));
      std::copy_n(value.at(copy.tensor), elements(copy.tensor), buffers_[c].get());
    }
    for (std::size_t o = 0; o < old.size(); ++o) {
      const Copy& copy = old_wiring.copies()[o];
      if (old[o]) arenas_[copy.device.index()].release(std::move(old[o]), elements(copy.tensor));
    }
  }

  // Pairs of a new value and the parameter whose place it takes, on every device that has both.
  void find_renewals() {
    std::map<std::pair<TensorId, DeviceId>, CopyIndex> parameters;
    renewals_.clear();
    for (std::size_t c = 0; c < buffers_.size(); ++c) {
      const Copy& copy = wiring_->copies()[c];
      if (copy.from_start) {
        parameters.emplace(std::pair(copy.tensor, copy.device), static_cast<CopyIndex>(c));
      }
    }
    for (std::size_t c = 0; c < buffers_.size(); ++c) {
      const Copy& copy = wiring_->copies()[c];
      const TensorId parameter = problem_->graph().updates(copy.tensor);
      if (!parameter.valid()) continue;
      const auto found = parameters.find(std::pair(parameter, copy.device));
      if (found != parameters.end()) {
        renewals_.emplace(static_cast<CopyIndex>(c), found->second);
      }
    }
  }

  void drop_last_results() {
    for (std::size_t c = 0; c < buffers_.size(); ++c) {
      if (!wiring_->copies()[c].from_start) give_back(static_cast<CopyIndex>(c));
    }
  }

  void renew_parameters() {
    for (const auto& [fresh, parameter] : renewals_)
      std::swap(buffers_[fresh], buffers_[parameter]);
  }

  void ring(DeviceId device) {
    bells_[device.index()].fetch_add(1, std::memory_order_release);
    bells_[device.index()].notify_one();
  }
  void ring_all() {
    for (std::size_t d = 0; d < bells_.size(); ++d) ring(DeviceId::of(d));
    links_.notify_one();
    ended_.notify_one();
  }
  // After something ended: wakes whoever may go on.
  void pass_on(DeviceId self) {
    for (const CopyIndex copy : core_->released()) give_back(copy);
    core_->forget_released();
    for (const DeviceId device : core_->touched()) {
      if (device != self && core_->is_ready(device)) ring(device);
    }
    core_->forget_touched();
    if (core_->has_waiting_transfers()) links_.notify_one();
    if (core_->left() == 0) ended_.notify_one();
  }
  void fail(const std::string& why) {
    if (failure_.empty()) failure_ = why;
    active_ = false;
    ended_.notify_one();
  }

  double now() const {
    return std::chrono::duration<double>(Clock::now() - start_).count() / options_.time_scale;
  }

  void wait_for_end(std::unique_lock<std::mutex>& lock) {
    const auto over = [&] { return (core_->left() == 0 || !failure_.empty()) && executing_ == 0; };
    while (!over()) {
      if (!options_.watchdog_seconds) {
        ended_.wait(lock, over);
        break;
      }
      const Clock::duration patience = seconds(*options_.watchdog_seconds);
      if (ended_.wait_for(lock, patience / 4, over)) break;
      for (std::size_t d = 0; d < running_.size(); ++d) {
        if (!running_[d].node.valid() || Clock::now() - running_[d].start < patience) continue;
        broken_ = fmt::format("node '{}' on {} did not end within {} s",
                              problem_->graph().node_name(running_[d].node),
                              problem_->topology().device(DeviceId::of(d)).name,
                              *options_.watchdog_seconds);
        active_ = false;
        throw InfeasibleError(broken_);
      }
    }
  }

  // The life of a device's thread.
  void work(DeviceId device) {
    make_timers_precise();
    if (options_.machine == Machine::kThreads) pin_thread(device.index(), bells_.size());
    std::vector<const float*> inputs;
    std::vector<float*> outputs;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      const NodeId node = active_ ? core_->start_node(device) : NodeId();
      if (!node.valid()) {
        const std::uint32_t heard = bells_[device.index()].load(std::memory_order_acquire);
        lock.unlock();
        bells_[device.index()].wait(heard, std::memory_order_acquire);
        lock.lock();
        continue;
      }
      prepare(node, inputs, outputs);
      ++executing_;
      const Clock::time_point start = Clock::now();
      running_[device.index()] = {node, start};
      timeline_.nodes[node.index()].start = now();
      lock.unlock();
      const std::string error = execute(node, device, start, inputs, outputs);
      lock.lock();
      --executing_;
      running_[device.index()].node = {};
      if (!error.empty()) {
        fail(error);
        continue;
      }
      if (!active_) {  // the run has failed elsewhere
        ended_.notify_one();
        continue;
      }
      const double end = now();
      note_pacing(start, node_seconds(node, device));
      timeline_.nodes[node.index()].end = end;
      timeline_.makespan = std::max(timeline_.makespan, end);
      core_->node_ended(node, end);
      pass_on(device);
    }
  }

  void prepare(NodeId node, std::vector<const float*>& inputs, std::vector<float*>& outputs) {
    if (!options_.computes) return;
    inputs.clear();
    outputs.clear();
    for (const CopyIndex copy : wiring_->operands(node)) inputs.push_back(buffers_[copy].get());
    for (const CopyIndex copy : wiring_->results(node)) {
      provide(copy);
      outputs.push_back(buffers_[copy].get());
    }
  }

  // Without the lock. What went wrong, or nothing.
  std::string execute(NodeId node, DeviceId device, Clock::time_point start,
                      const std::vector<const float*>& inputs,
                      const std::vector<float*>& outputs) const {
    const auto failed = [&](const char* why) {
      return fmt::format("node '{}' on {}: {}", problem_->graph().node_name(node),
                         problem_->topology().device(device).name, why);
    };
    if (options_.computes) {
      try {
        kernels_[node.index()]->run(inputs, outputs);
      } catch (const std::exception& error) {
        return failed(error.what());
      }
      if (options_.check_finite && !is_finite(node, outputs)) {
        return failed("a result is not a finite number");
      }
    }
    if (pace_) {
      std::this_thread::sleep_until(start + seconds(node_seconds(node, device)));
    }
    return {};
  }

  bool is_finite(NodeId node, const std::vector<float*>& outputs) const {
    const auto tensors = problem_->graph().outputs(node);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const float* end = outputs[i] + elements(tensors[i]);
      if (std::any_of(outputs[i], const_cast<float*>(end),
                      [](float value) { return !std::isfinite(value); })) {
        return false;
      }
    }
    return true;
  }

  // Of wall clock.
  double node_seconds(NodeId node, DeviceId device) const {
    return pace_ ? options_.time_scale * pace_->node_time(node, device, seed_) : 0.0;
  }
  void note_pacing(Clock::time_point start, double wanted) {
    if (!pace_) return;
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    pacing_error_ = std::max(pacing_error_, took - wanted);
  }

  // The life of the thread that moves data between devices: copies at once, and ends each transfer
  // when its time has come.
  void move_data() {
    make_timers_precise();
    std::vector<Moving> moving;  // a heap, the next to end first
    std::uint64_t run = 0;       // that they belong to
    const auto later = [](const Moving& a, const Moving& b) { return a.end > b.end; };
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (!active_) {
        links_.wait(lock);
        continue;
      }
      if (std::exchange(run, runs_) != runs_) moving.clear();  // left over from one that failed
      if (const auto index = core_->start_transfer()) {
        const Clock::time_point start = Clock::now();
        const Transfer& transfer = wiring_->transfers()[*index];
        const std::size_t record = timeline_.transfers.size();
        timeline_.transfers.push_back(
            {transfer.tensor, transfer.consumer, transfer.from, transfer.to, now(), 0.0});
        ++executing_;
        copy_values(transfer, lock);
        --executing_;
        if (!active_ || run != runs_) {
          ended_.notify_one();
          continue;
        }
        const double wanted =
            pace_ ? options_.time_scale * pace_->transfer_time(transfer, seed_) : 0.0;
        moving.push_back({start + seconds(wanted), *index, record});
        std::push_heap(moving.begin(), moving.end(), later);
        if (pace_) continue;
      }
      if (moving.empty()) {
        links_.wait(lock);
        continue;
      }
      if (Clock::now() < moving.front().end) {
        links_.wait_until(lock, moving.front().end);
        continue;
      }
      std::pop_heap(moving.begin(), moving.end(), later);
      const Moving done = moving.back();
      moving.pop_back();
      const double end = now();
      timeline_.transfers[done.record].end = end;
      timeline_.makespan = std::max(timeline_.makespan, end);
      core_->transfer_ended(done.transfer, end);
      pass_on({});
    }
  }

  void copy_values(const Transfer& transfer, std::unique_lock<std::mutex>& lock) {
    if (!options_.computes) return;
    provide(transfer.target);
    const float* from = buffers_[transfer.source].get();
    float* to = buffers_[transfer.target].get();
    const std::size_t bytes = elements(transfer.tensor) * sizeof(float);
    lock.unlock();
    std::memcpy(to, from, bytes);
    lock.lock();
  }

  const std::shared_ptr<const cost::Problem> problem_;
  const EngineOptions options_;
  std::optional<Pace> pace_;                                            // immutable
  std::unique_ptr<graph::SerialRunner<float>> runner_;                  // knows shapes; immutable
  std::vector<std::unique_ptr<kernel::cpu::Runnable<float>>> kernels_;  // immutable
  std::vector<std::thread> threads_;
  std::vector<std::atomic<std::uint32_t>> bells_;  // by device: rung when there may be work

  mutable std::mutex mutex_;
  std::condition_variable links_, ended_;
  schedule::Placement placement_;
  std::unique_ptr<Wiring> wiring_;
  StartOrder order_;
  std::unique_ptr<Core> core_;
  std::vector<Arena> arenas_;           // by device
  std::vector<Arena::Buffer> buffers_;  // by copy
  std::map<CopyIndex, CopyIndex> renewals_;
  schedule::Timeline timeline_;
  Clock::time_point start_;
  std::uint64_t seed_ = 0, runs_ = 0;
  std::vector<Running> running_;  // by device
  std::size_t executing_ = 0;     // nodes and copies that run without the lock
  bool active_ = false, stopping_ = false;
  std::string failure_;  // of the run
  std::string broken_;   // why there can be no more runs
  double pacing_error_ = 0.0;
};

Engine::Engine(std::shared_ptr<const cost::Problem> problem, EngineOptions options)
    : state_(std::make_shared<State>(std::move(problem), std::move(options))) {
  State::start_threads(state_);
}
Engine::~Engine() {
  state_->stop_threads();
}
void Engine::load(const schedule::Placement& placement) {
  state_->load(placement);
}
void Engine::set(const Values& values) {
  state_->set(values);
}
schedule::Timeline Engine::run(std::uint64_t seed) {
  return state_->run(seed);
}
Values Engine::results() const {
  return state_->results();
}
double Engine::pacing_error() const {
  return state_->pacing_error();
}

}  // namespace doppler::exec
