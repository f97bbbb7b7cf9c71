#include "doppler/exec/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/exec/engine_state.h"
#include "doppler/kernel/cpu/blas.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::exec {
namespace {

// Returns the number of elements by tensor. REQUIRES: every node has a kernel call that fits.
std::vector<std::size_t> element_counts(const graph::Graph& graph) {
  const graph::SerialRunner<float> runner(graph);
  std::vector<std::size_t> counts(graph.tensor_count(), 0);
  for (std::size_t t = 0; t < counts.size(); ++t) {
    const kernel::Shape* shape = runner.shape(TensorId::of(t));
    if (shape) counts[t] = static_cast<std::size_t>(kernel::element_count(*shape));
  }
  return counts;
}

// Calls a function at the end of a scope.
template <class Action>
class Finally {
 public:
  explicit Finally(Action action) : action_(std::move(action)) {}
  Finally(const Finally&) = delete;
  Finally& operator=(const Finally&) = delete;
  ~Finally() { action_(); }

 private:
  Action action_;
};

}  // namespace

LoadedPlacement::LoadedPlacement(RemainingWork remaining, schedule::Placement given,
                                 std::shared_ptr<const Backend> on, DispatchQueue::Rules rules)
    : PreparedPlacement(std::move(remaining.problem), std::move(given), rules),
      backend(std::move(on)),
      nodes(std::move(remaining.nodes)),
      tensors(std::move(remaining.tensors)) {}

Engine::State::State(std::shared_ptr<const cost::Problem> problem, EngineOptions options)
    : problem_(std::move(problem)),
      options_(std::move(options)),
      backend_(make_backend(options_.backend, *problem_, options_.machine)),
      bells_(problem_->device_count()),
      devices_(problem_->device_count()),
      lost_(problem_->device_count(), 0),
      memory_(problem_,
              options_.computes ? element_counts(problem_->graph()) : std::vector<std::size_t>(),
              options_.replace != nullptr) {
  if (!options_.computes && !is_paced()) {
    throw ParameterError("kernels of this machine's own devices always compute");
  }
  if (!options_.computes) return;
  kernel::cpu::require_blas_memory(problem_->device_count());
  for (std::size_t v = 0; v < problem_->node_count(); ++v) {
    kernels_.push_back(kernel::cpu::bind<float>(*problem_->graph().kernel_call(NodeId::of(v))));
  }
}

void Engine::State::start_threads(const std::shared_ptr<State>& state) {
  const bool paced = state->is_paced();
  if (paced) state->threads_.emplace_back([state] { state->keep_time(); });
  if (!state->options_.computes) return;
  for (std::size_t d = 0; d < state->problem_->device_count(); ++d) {
    state->threads_.emplace_back([state, paced, device = DeviceId::of(d)] {
      state->backend_->enter_device_thread(device);
      paced ? state->compute(device) : state->work(device);
    });
  }
  state->threads_.emplace_back([state, paced] { paced ? state->copy() : state->move_data(); });
}

void Engine::State::stop_threads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    ring_all();
  }
  for (std::thread& thread : threads_) broken_.empty() ? thread.join() : thread.detach();
}

void Engine::State::load(const schedule::Placement& placement) {
  auto loaded =
      std::make_unique<LoadedPlacement>(RemainingWork{problem_}, placement, backend_, rules());
  const std::lock_guard lock(mutex_);
  refuse_if_broken();
  refuse_lost_devices(placement);
  enter(std::move(loaded));
}

void Engine::State::set(const Values& values) {
  const std::lock_guard lock(mutex_);
  DOPPLER_CHECK(loaded_ != nullptr);
  refuse_if_broken();
  complete_ = false;
  memory_.set(values);
}

schedule::Timeline Engine::State::run(std::uint64_t seed) {
  std::unique_lock lock(mutex_);
  DOPPLER_CHECK(loaded_ != nullptr);
  refuse_if_broken();
  // Another device may be lost while a placement is looked for.
  while (options_.replace && (stale_ || uses_lost_device(loaded_->placement))) {
    replace_whole(lock);
  }
  refuse_lost_devices(loaded_->placement);
  complete_ = false;
  memory_.drop_results();
  memory_.require_inputs();
  migrated_results_.reset();
  saved_.assign(problem_->tensor_count(), 0);
  ended_nodes_.assign(problem_->node_count(), 0);
  failure_.clear();
  lost_result_.clear();
  pacing_error_ = 0.0;
  seed_ = seed;
  timeline_ = {.mode = options_.mode,
               .choice = options_.choice,
               .device = loaded_->placement.device,
               .priority = loaded_->placement.priority,
               .nodes = std::vector<schedule::NodeRun>(problem_->node_count()),
               .transfers = {}};
  timeline_.transfers.reserve(loaded_->transfer_plan.transfers().size());
  running_ = true;
  const Finally ending([this] { end_run(); });
  begin();
  start_ = origin_;
  wait_for_end(lock);
  while (loss_ && failure_.empty()) {
    if (!replace_remaining(lock)) break;
    if (!loss_) wait_for_end(lock);
  }
  if (!failure_.empty()) throw RunError(failure_);
  if (migrated_results_) {
    migrated_results_->merge(memory_.results());
    memory_.back_up(*migrated_results_);
  } else if (options_.computes) {
    memory_.renew_parameters();
  }
  complete_ = true;
  return std::move(timeline_);
}

void Engine::State::enter(std::unique_ptr<LoadedPlacement> loaded, const Values& elsewhere) {
  complete_ = false;
  try {
    memory_.arrange(loaded->transfer_plan, loaded->tensors, elsewhere);
  } catch (...) {  // memory ran out: nothing is loaded any more
    memory_.forget();
    loaded_.reset();
    throw;
  }
  loaded_ = std::move(loaded);
  stale_ = false;
  // With free links several transfers bring one copy: one thread moves, so that the first fills it.
  devices_move_ = backend_->devices_have_cores() && problem_->links() == cost::LinkMode::kChannel;
}

void Engine::State::begin() {
  if (is_paced()) {
    timed_.emplace(*loaded_->problem, loaded_->placement, loaded_->transfer_plan, loaded_->queue,
                   static_cast<TimedRun::Host&>(*this), seed_);
    transfers_.assign(loaded_->transfer_plan.transfers().size(), {});
  } else {
    loaded_->queue.begin(seed_);
  }
  origin_ = Clock::now();
  active_ = true;
  ring_all();
}

void Engine::State::end_run() {
  running_ = active_ = loss_ = false;
  ++ended_runs_;
  timed_.reset();
  if (!broken_.empty()) return;  // a hung node may still use its memory
  for (std::size_t d = 0; d < lost_.size(); ++d) {
    if (lost_[d]) memory_.lose(DeviceId::of(d));
  }
  if (!migrated_results_) return;
  // The devices hold parts of a run and old parameters: everything comes from the backup next time.
  memory_.clear();
  stale_ = true;
}

void Engine::State::wait_for_end(std::unique_lock<std::mutex>& lock) {
  const auto over = [&] {
    return (loaded_->queue.left() == 0 || loss_ || !failure_.empty()) && executing_ == 0;
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

void Engine::State::fail(const std::string& why) {
  if (failure_.empty()) failure_ = why;
  active_ = false;
  timer_.notify_one();
  ended_.notify_one();
}

void Engine::State::refuse_if_broken() const {
  if (!broken_.empty()) throw HungError("the engine cannot run any more: " + broken_);
}

Values Engine::State::results() const {
  const std::lock_guard lock(mutex_);
  if (!complete_) throw RunError("there is no finished run whose results could be had");
  if (!lost_result_.empty()) {
    throw RunError(fmt::format("{} was lost with results of the last run", lost_result_));
  }
  return migrated_results_ ? *migrated_results_ : memory_.results();
}

double Engine::State::pacing_error() const {
  const std::lock_guard lock(mutex_);
  return pacing_error_;
}

Engine::Engine(std::shared_ptr<const cost::Problem> problem, EngineOptions options)
    : state_(std::make_shared<State>(std::move(problem), std::move(options))) {
  try {
    State::start_threads(state_);
  } catch (const std::system_error& error) {
    state_->stop_threads();  // those that are there
    throw SystemError(fmt::format("the system gives no more threads for so many devices: {}",
                                  error.code().message()));
  }
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
std::uint64_t Engine::ended_runs() const {
  return state_->ended_runs();
}
bool Engine::lose_unless_ended(DeviceId device, std::uint64_t runs) {
  return state_->lose_unless_ended(device, runs);
}
void Engine::lose(DeviceId device) {
  state_->lose(device);
}
void Engine::restore(DeviceId device) {
  state_->restore(device);
}

}  // namespace doppler::exec
