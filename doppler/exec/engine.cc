#include "doppler/exec/engine.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/exec/rest.h"
#include "doppler/exec/session.h"
#include "doppler/kernel/cpu/copy.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/shape.h"

namespace doppler::exec {
namespace {

using Clock = std::chrono::steady_clock;

// How long an idle device watches for work before it sleeps. Waking a sleeping core takes up to
// some 0.1 ms on virtual machines; a gap of a millisecond hardly notices.
constexpr std::chrono::microseconds kWatchTime(1000);

// Much happens at the same moment where durations are given, and threads wake up one after the
// other: so long they wait for ends of the same moment before they choose what starts. Starts count
// from the moment itself, so that this delays nothing that lasts longer.
constexpr std::chrono::microseconds kSettlingTime(250);

// So few are copied in less time than giving the lock away and taking it again costs.
constexpr std::size_t kFewElements = 256;

// Sleeps end when asked for, not up to 50 us later as is Linux' default for threads.
void make_timers_precise() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Returns when the bell is no longer as it was heard, or after kWatchTime.
void watch(const std::atomic<std::uint32_t>& bell, std::uint32_t heard) {
  const Clock::time_point end = Clock::now() + kWatchTime;
  do {
    for (int i = 0; i < 32; ++i) {
      if (bell.load(std::memory_order_acquire) != heard) return;
      pause_briefly();
    }
  } while (Clock::now() < end);
}

// The lock is held for a fraction of a microsecond, far less than sleeping and waking up take.
void lock_soon(std::unique_lock<std::mutex>& lock) {
  constexpr int kTries = 500;
  for (int i = 0; i < kTries; ++i) {
    if (lock.try_lock()) return;
    pause_briefly();
  }
  lock.lock();
}

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}
double to_seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// By tensor. REQUIRES: every node has a kernel call that fits.
std::vector<std::size_t> element_counts(const graph::Graph& graph) {
  const graph::SerialRunner<float> runner(graph);
  std::vector<std::size_t> counts(graph.tensor_count(), 0);
  for (std::size_t t = 0; t < counts.size(); ++t) {
    const kernel::Shape* shape = runner.shape(TensorId::of(t));
    if (shape) counts[t] = static_cast<std::size_t>(kernel::element_count(*shape));
  }
  return counts;
}

}  // namespace

// Everything that the threads share. Whatever is not marked otherwise is guarded by `mutex_`.
class Engine::State {
 public:
  State(std::shared_ptr<const cost::Problem> problem, EngineOptions options)
      : problem_(std::move(problem)),
        options_(std::move(options)),
        backend_(make_backend(options_.backend, *problem_, options_.machine)),
        bells_(problem_->device_count()),
        devices_(problem_->device_count()),
        lost_(problem_->device_count(), 0),
        store_(problem_,
               options_.computes ? element_counts(problem_->graph()) : std::vector<std::size_t>(),
               options_.replace != nullptr) {
    if (!options_.computes && backend_->needs_values()) {
      throw ParameterError("kernels of this machine's own devices always compute");
    }
    if (!options_.computes) return;
    for (std::size_t v = 0; v < problem_->node_count(); ++v) {
      kernels_.push_back(kernel::cpu::bind<float>(*problem_->graph().kernel_call(NodeId::of(v))));
    }
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
    auto session = std::make_unique<Session>(Rest{problem_}, placement, backend_, rules());
    const std::lock_guard lock(mutex_);
    refuse_if_broken();
    refuse_lost_devices(placement);
    enter(std::move(session));
  }

  void set(const Values& values) {
    const std::lock_guard lock(mutex_);
    DOPPLER_CHECK(session_ != nullptr);
    refuse_if_broken();
    store_.set(values);
  }

  schedule::Timeline run(std::uint64_t seed) {
    std::unique_lock lock(mutex_);
    DOPPLER_CHECK(session_ != nullptr);
    refuse_if_broken();
    // Another device may be lost while a placement is looked for.
    while (options_.replace && (stale_ || uses_lost_device(session_->placement))) {
      replace_whole(lock);
    }
    refuse_lost_devices(session_->placement);
    store_.drop_results();
    store_.require_inputs();
    migrated_results_.reset();
    saved_.assign(problem_->tensor_count(), 0);
    ended_nodes_.assign(problem_->node_count(), 0);
    failure_.clear();
    lost_result_.clear();
    pacing_error_ = 0.0;
    seed_ = seed;
    timeline_ = {.mode = options_.mode,
                 .choice = options_.choice,
                 .device = session_->placement.device,
                 .priority = session_->placement.priority,
                 .nodes = std::vector<schedule::NodeRun>(problem_->node_count()),
                 .transfers = {}};
    timeline_.transfers.reserve(session_->wiring.transfers().size());
    start_ = Clock::now();
    running_ = true;
    const Ending ending(*this);
    begin();
    wait_for_end(lock);
    while (loss_ && failure_.empty()) {
      if (!replace_rest(lock)) break;
      if (!loss_) wait_for_end(lock);
    }
    if (!failure_.empty()) throw InfeasibleError(failure_);
    if (migrated_results_) {
      migrated_results_->merge(store_.results());
      store_.back_up(*migrated_results_);
    } else if (options_.computes) {
      store_.renew_parameters();
    }
    return std::move(timeline_);
  }

  Values results() const {
    const std::lock_guard lock(mutex_);
    if (!lost_result_.empty()) {
      throw InfeasibleError(fmt::format("{} was lost with results of the last run", lost_result_));
    }
    return migrated_results_ ? *migrated_results_ : store_.results();
  }

  double pacing_error() const {
    const std::lock_guard lock(mutex_);
    return pacing_error_;
  }

  void lose(DeviceId device) {
    const std::lock_guard lock(mutex_);
    DOPPLER_CHECK(device.index() < lost_.size());
    if (std::exchange(lost_[device.index()], std::uint8_t{1})) return;
    if (!running_) {
      if (!session_) return;
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
    ended_.notify_one();
  }

  void restore(DeviceId device) {
    const std::lock_guard lock(mutex_);
    DOPPLER_CHECK(device.index() < lost_.size() && !running_);
    lost_[device.index()] = 0;
    if (!session_) return;
    // Its memory is empty: what it had comes from the backup, or has to be set.
    if (options_.replace) stale_ = true;
    if (!options_.computes) store_.arrange(session_->wiring, session_->tensors);
  }

 private:
  // Of one device's thread.
  struct DeviceState {
    NodeId running = {};  // in the whole graph; invalid where none is
    Clock::time_point start = {};
    bool idle = false;  // waits for its bell
    // Paced runs: when, by plan, the last thing happened that may let the device start something.
    // Starts count from here, so that late wake-ups do not add up.
    Clock::time_point planned = {};
  };
  struct Moving {  // a paced transfer under way
    Clock::time_point end;
    TransferIndex transfer;
    std::size_t record;  // in the timeline
  };

  Core::Rules rules() const { return {options_.choice, options_.mode}; }
  const std::string& device_name(DeviceId device) const {
    return problem_->topology().device(device).name;
  }

  void enter(std::unique_ptr<Session> session, const Values& elsewhere = {}) {
    store_.arrange(session->wiring, session->tensors, elsewhere);
    session_ = std::move(session);
    stale_ = false;
    // With free links several transfers bring one copy: one thread moves, so that the first fills
    // it.
    devices_move_ = backend_->devices_have_cores() && problem_->links() == cost::LinkMode::kChannel;
  }

  void begin() {
    session_->core.begin(seed_);
    ++beginnings_;
    active_ = true;
    const Clock::time_point now = Clock::now();
    for (DeviceState& device : devices_) device.planned = now;
    links_planned_ = now;
    ring_all();
  }

  void refuse_if_broken() const {
    if (!broken_.empty()) throw HungError("the engine cannot run any more: " + broken_);
  }

  // --- lost devices ---
  void require_a_device() const {
    if (std::find(lost_.begin(), lost_.end(), std::uint8_t{0}) == lost_.end()) {
      throw InfeasibleError("all devices are lost");
    }
  }
  bool uses_lost_device(const schedule::Placement& placement) const {
    return std::any_of(placement.device.begin(), placement.device.end(),
                       [&](DeviceId device) { return lost_[device.index()] != 0; });
  }
  void refuse_lost_devices(const schedule::Placement& placement) const {
    for (const DeviceId device : placement.device) {
      if (!lost_[device.index()]) continue;
      throw InfeasibleError(
          fmt::format("the placement uses {}, which is lost", device_name(device)));
    }
  }

  // Whatever way a run ends.
  class Ending {
   public:
    explicit Ending(State& state) : state_(state) {}
    ~Ending() {
      state_.running_ = state_.active_ = state_.loss_ = false;
      if (!state_.broken_.empty()) return;  // a hung node may still use its memory
      for (std::size_t d = 0; d < state_.lost_.size(); ++d) {
        if (state_.lost_[d]) state_.store_.lose(DeviceId::of(d));
      }
      if (!state_.migrated_results_) return;
      // The devices have the rest of a run and old parameters: all comes from the backup next time.
      state_.store_.clear();
      state_.stale_ = true;
    }

   private:
    State& state_;
  };
  class Unlocked {
   public:
    explicit Unlocked(std::unique_lock<std::mutex>& lock) : lock_(lock) { lock_.unlock(); }
    ~Unlocked() { lock_.lock(); }

   private:
    std::unique_lock<std::mutex>& lock_;
  };

  // After a loss, when everything that still ran has ended: goes on with what is left, on the
  // devices that are, unless another one is lost meanwhile. False where nothing is left.
  bool replace_rest(std::unique_lock<std::mutex>& lock) {
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
    Rest rest = find_rest(*problem_, ended_nodes_, {available, holders}, lost_);
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
  void replace_whole(std::unique_lock<std::mutex>& lock) {
    require_a_device();
    const std::vector<std::uint8_t> none(problem_->node_count(), 0);
    const std::vector<std::uint8_t> nothing(problem_->tensor_count(), 0);
    const std::vector<DeviceId> nowhere(problem_->tensor_count());
    const Rest all = find_rest(*problem_, none, {nothing, nowhere}, lost_);
    std::unique_ptr<Session> session;
    {
      const Unlocked unlocked(lock);
      session = std::make_unique<Session>(Rest{problem_}, options_.replace(*all.problem), backend_,
                                          rules());
    }
    enter(std::move(session));
  }

  std::unique_ptr<Session> make_session(Rest rest) const {
    schedule::Placement placement = options_.replace(*rest.problem);
    std::shared_ptr<const Backend> backend =
        make_backend(options_.backend, *rest.problem, options_.machine);
    return std::make_unique<Session>(std::move(rest), std::move(placement), std::move(backend),
                                     rules());
  }

  bool is_result(TensorId tensor) const {
    const graph::Graph& graph = problem_->graph();
    return graph.role(tensor) == graph::TensorRole::kValue &&
           (graph.is_output(tensor) || graph.updates(tensor).valid());
  }

  // --- signals ---
  // `planned`: when, by plan, that happened which may let the device start something.
  void ring(DeviceId device, Clock::time_point planned) {
    DeviceState& state = devices_[device.index()];
    state.planned = std::max(state.planned, planned);
    bells_[device.index()].fetch_add(1, std::memory_order_release);
    bells_[device.index()].notify_one();
  }
  void ring_all() {
    for (std::size_t d = 0; d < bells_.size(); ++d) ring(DeviceId::of(d), {});
    links_.notify_one();
    ended_.notify_one();
  }
  // After something ended: wakes whoever may go on. `self`, where valid, is about to look by
  // itself.
  void pass_on(DeviceId self, Clock::time_point planned) {
    Core& core = session_->core;
    for (const CopyIndex copy : core.released()) store_.release(copy);
    core.forget_released();
    for (const DeviceId device : core.touched()) {
      if (device != self && core.is_ready(device)) ring(device, planned);
    }
    core.forget_touched();
    if (!devices_move_ && core.has_waiting_transfers()) {
      links_planned_ = std::max(links_planned_, planned);
      links_.notify_one();
    }
    if (core.left() == 0) ended_.notify_one();
  }
  // Where devices move data: finds someone to move what `self`, now busy, cannot.
  void wake_mover(DeviceId self) {
    if (!devices_move_ || !session_->core.may_start_transfer()) return;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (!devices_[d].idle || DeviceId::of(d) == self) continue;
      ring(DeviceId::of(d), {});
      return;
    }
    links_.notify_one();
  }
  void fail(const std::string& why) {
    if (failure_.empty()) failure_ = why;
    active_ = false;
    ended_.notify_one();
  }

  // What the engine reports of a moment.
  double time_of(Clock::time_point moment) const {
    return to_seconds(moment - start_) / backend_->time_scale();
  }
  double now() const { return time_of(Clock::now()); }

  void wait_for_end(std::unique_lock<std::mutex>& lock) {
    const auto over = [&] {
      return (session_->core.left() == 0 || loss_ || !failure_.empty()) && executing_ == 0;
    };
    while (!over()) {
      if (!options_.watchdog_seconds) {
        ended_.wait(lock, over);
        break;
      }
      const Clock::duration patience = seconds(*options_.watchdog_seconds);
      if (ended_.wait_for(lock, patience / 4, over)) break;
      for (std::size_t d = 0; d < devices_.size(); ++d) {
        const DeviceState& device = devices_[d];
        if (!device.running.valid() || Clock::now() - device.start < patience) continue;
        broken_ = fmt::format("node '{}' on {} did not end within {} s",
                              problem_->graph().node_name(device.running),
                              device_name(DeviceId::of(d)), *options_.watchdog_seconds);
        throw HungError(broken_);
      }
    }
  }

  // --- devices ---
  // What a device's thread uses again and again.
  struct Operands {
    std::vector<const float*> inputs;
    std::vector<float*> outputs;
  };

  // The life of a device's thread.
  void work(DeviceId device) {
    make_timers_precise();
    backend_->enter_device_thread(device);
    Operands operands;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (active_ && !lost_[device.index()]) {
        try {
          if (start_something(device, operands, lock)) continue;
        } catch (const std::bad_alloc&) {  // of buffers, with the lock held
          fail(fmt::format("{}: not enough memory", device_name(device)));
        }
      }
      wait_for_bell(device, lock);
    }
  }

  // False where there is nothing to do.
  bool start_something(DeviceId device, Operands& operands, std::unique_lock<std::mutex>& lock) {
    if (paced() && session_->core.is_ready(device) && settle(device, lock)) return true;
    if (const NodeId node = session_->core.start_node(device); node.valid()) {
      run_node(node, device, operands, lock);
      return true;
    }
    if (!devices_move_) return false;
    const auto transfer = session_->core.start_transfer();
    if (!transfer) return false;
    wake_mover(device);
    move(*transfer, device, lock);
    return true;
  }

  bool paced() const { return !backend_->needs_values(); }
  // Whether it had to wait for ends of the same moment.
  bool settle(DeviceId device, std::unique_lock<std::mutex>& lock) {
    const Clock::time_point settled = devices_[device.index()].planned + kSettlingTime;
    if (Clock::now() >= settled) return false;
    lock.unlock();
    std::this_thread::sleep_until(settled);
    lock.lock();
    return true;
  }

  void wait_for_bell(DeviceId device, std::unique_lock<std::mutex>& lock) {
    std::atomic<std::uint32_t>& bell = bells_[device.index()];
    const std::uint32_t heard = bell.load(std::memory_order_acquire);
    devices_[device.index()].idle = true;
    lock.unlock();
    if (backend_->devices_have_cores()) watch(bell, heard);
    bell.wait(heard, std::memory_order_acquire);
    lock_soon(lock);
    devices_[device.index()].idle = false;
  }

  void run_node(NodeId node, DeviceId device, Operands& operands,
                std::unique_lock<std::mutex>& lock) {
    Session& session = *session_;
    DeviceState& state = devices_[device.index()];
    const NodeId whole = session.whole(node);
    wake_mover(device);
    find_operands(node, operands);
    const auto paced = session.backend->node_seconds(node, device, seed_);
    ++executing_;
    state.running = whole;
    state.start = Clock::now();
    timeline_.nodes[whole.index()].start = time_of(state.start);
    if (paced) note_pacing(state.planned);
    Clock::time_point end = paced ? state.planned + seconds(*paced) : state.start;
    lock.unlock();
    const std::string error = execute(whole, device, operands);
    if (paced) end = sleep_until(end);
    lock_soon(lock);
    --executing_;
    state.running = {};
    if (!error.empty()) return fail(error);
    if (active_ || (loss_ && !lost_[device.index()])) {
      timeline_.nodes[whole.index()].end = now();
      timeline_.makespan = std::max(timeline_.makespan, timeline_.nodes[whole.index()].end);
      ended_nodes_[whole.index()] = 1;
      for (const CopyIndex copy : session.wiring.results(node)) store_.arrived(copy);
    }
    if (!active_) return ended_.notify_one();  // the run is over, or waits for what still runs
    if (paced) {
      note_pacing(end);
      state.planned = std::max(state.planned, end);
    }
    session.core.node_ended(node, timeline_.nodes[whole.index()].end);
    pass_on(device, end);
  }

  void find_operands(NodeId node, Operands& operands) {
    if (!options_.computes) return;
    operands.inputs.clear();
    operands.outputs.clear();
    for (const CopyIndex copy : session_->wiring.operands(node)) {
      operands.inputs.push_back(store_.data(copy));
    }
    for (const CopyIndex copy : session_->wiring.results(node)) {
      store_.provide(copy);
      operands.outputs.push_back(store_.data(copy));
    }
  }

  // Without the lock. What went wrong, or nothing. The node is one of the whole graph.
  std::string execute(NodeId node, DeviceId device, const Operands& operands) const {
    if (!options_.computes) return {};
    const auto failed = [&](const char* why) {
      return fmt::format("node '{}' on {}: {}", problem_->graph().node_name(node),
                         device_name(device), why);
    };
    try {
      kernels_[node.index()]->run(operands.inputs, operands.outputs);
    } catch (const std::exception& error) {
      return failed(error.what());
    }
    if (options_.check_finite && !is_finite(node, operands.outputs)) {
      return failed("a result is not a finite number");
    }
    return {};
  }

  bool is_finite(NodeId node, const std::vector<float*>& outputs) const {
    const auto& shapes = problem_->graph().kernel_call(node)->outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const float* end = outputs[i] + kernel::element_count(shapes[i]);
      if (!std::all_of(const_cast<const float*>(outputs[i]), end,
                       [](float value) { return std::isfinite(value); })) {
        return false;
      }
    }
    return true;
  }

  // When the pause was to end or, where computing took longer, when that ended.
  static Clock::time_point sleep_until(Clock::time_point end) {
    const Clock::time_point computed = Clock::now();
    if (computed >= end) return computed;
    std::this_thread::sleep_until(end);
    return end;
  }
  void note_pacing(Clock::time_point planned) {
    pacing_error_ = std::max(pacing_error_, to_seconds(Clock::now() - planned));
  }

  // --- links ---
  std::size_t record(const Transfer& transfer) {
    timeline_.transfers.push_back(
        {session_->whole(transfer.tensor),
         transfer.consumer.valid() ? session_->whole(transfer.consumer) : NodeId(), transfer.from,
         transfer.to, now(), 0.0});
    return timeline_.transfers.size() - 1;
  }

  void copy_values(const Transfer& transfer, std::unique_lock<std::mutex>& lock) {
    if (!options_.computes || store_.data(transfer.target)) return;
    try {
      store_.provide(transfer.target);
    } catch (const std::bad_alloc&) {
      fail(fmt::format("{}: not enough memory", device_name(transfer.to)));
      return;
    }
    const float* from = store_.data(transfer.source);
    float* to = store_.data(transfer.target);
    const std::size_t elements = store_.elements(transfer.target);
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

  void end_transfer(TransferIndex index, std::size_t at, DeviceId self, Clock::time_point planned) {
    const double end = now();
    timeline_.transfers[at].end = end;
    timeline_.makespan = std::max(timeline_.makespan, end);
    store_.arrived(session_->wiring.transfers()[index].target);
    session_->core.transfer_ended(index, end);
    pass_on(self, planned);
  }

  // A transfer that takes as long as its copy, by whichever thread.
  void move(TransferIndex index, DeviceId self, std::unique_lock<std::mutex>& lock) {
    const Transfer& transfer = session_->wiring.transfers()[index];
    const std::size_t at = record(transfer);
    copy_values(transfer, lock);
    if (!active_) return ended_.notify_one();
    end_transfer(index, at, self, {});
  }

  // The life of the thread that moves data where no device does. Paced transfers are copied at once
  // and end when their time has come.
  void move_data() {
    make_timers_precise();
    std::vector<Moving> moving;    // a heap, the next to end first
    std::uint64_t beginnings = 0;  // when they began
    const auto later = [](const Moving& a, const Moving& b) { return a.end > b.end; };
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (!active_) {
        links_.wait(lock);
        continue;
      }
      if (std::exchange(beginnings, beginnings_) != beginnings_) moving.clear();
      const Clock::time_point settled = links_planned_ + kSettlingTime;
      const bool may_start = !paced() || Clock::now() >= settled;
      if (const auto index = may_start ? session_->core.start_transfer() : std::nullopt) {
        const Transfer& transfer = session_->wiring.transfers()[*index];
        const auto duration = session_->backend->transfer_seconds(transfer, seed_);
        if (!duration) {
          move(*index, {}, lock);
          continue;
        }
        note_pacing(links_planned_);
        const Clock::time_point end = links_planned_ + seconds(*duration);
        const std::size_t at = record(transfer);
        copy_values(transfer, lock);
        if (!active_ || beginnings != beginnings_) {
          ended_.notify_one();
          continue;
        }
        moving.push_back({end, *index, at});
        std::push_heap(moving.begin(), moving.end(), later);
        continue;
      }
      const bool unsettled = !may_start && session_->core.has_waiting_transfers();
      if (moving.empty() && !unsettled) {
        links_.wait(lock);
        continue;
      }
      if (moving.empty() || Clock::now() < moving.front().end) {
        Clock::time_point next = moving.empty() ? settled : moving.front().end;
        if (unsettled) next = std::min(next, settled);
        links_.wait_until(lock, next);
        continue;
      }
      std::pop_heap(moving.begin(), moving.end(), later);
      const Moving done = moving.back();
      moving.pop_back();
      note_pacing(done.end);
      links_planned_ = std::max(links_planned_, done.end);
      end_transfer(done.transfer, done.record, {}, done.end);
    }
  }

  const std::shared_ptr<const cost::Problem> problem_;
  const EngineOptions options_;
  const std::shared_ptr<const Backend> backend_;
  std::vector<std::unique_ptr<kernel::cpu::Runnable<float>>> kernels_;  // immutable
  std::vector<std::thread> threads_;
  std::vector<std::atomic<std::uint32_t>> bells_;  // by device: rung when there may be work

  mutable std::mutex mutex_;
  std::condition_variable links_, ended_;
  std::vector<DeviceState> devices_;
  std::vector<std::uint8_t> lost_;  // by device
  Store store_;
  std::unique_ptr<Session> session_;  // what is run
  bool stale_ = false;                // the session is of the rest of a run that has ended
  bool devices_move_ = false;         // data, where they are idle
  schedule::Timeline timeline_;
  Clock::time_point start_;
  Clock::time_point links_planned_;  // as DeviceState::planned
  std::uint64_t seed_ = 0, beginnings_ = 0;
  std::size_t executing_ = 0;  // nodes and copies that run without the lock
  bool running_ = false;       // a run, which may pause for a new placement
  bool active_ = false;        // things may start
  bool loss_ = false;          // a device was lost during the run and not yet replaced
  bool stopping_ = false;
  std::string failure_;      // of the run
  std::string broken_;       // why there can be no more runs
  std::string lost_result_;  // the device that was lost with results after the run
  double pacing_error_ = 0.0;
  std::vector<std::uint8_t> ended_nodes_;  // by node of the whole graph
  // After a loss: results that were there, and which, also where there are no values.
  std::optional<Values> migrated_results_;
  std::vector<std::uint8_t> saved_;  // by tensor
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
void Engine::lose(DeviceId device) {
  state_->lose(device);
}
void Engine::restore(DeviceId device) {
  state_->restore(device);
}

}  // namespace doppler::exec
