#include "doppler/train/online/service.h"

#include <pthread.h>
#include <sched.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "doppler/base/error.h"

namespace doppler::train {
namespace {

// Between two looks of a learner that has nothing to do.
constexpr std::chrono::milliseconds kRest(1);

// A virtual machine whose devices slow down when their time has come.
class ChangingMachine final : public schedule::Measurer {
 public:
  ChangingMachine(std::shared_ptr<const cost::Problem> problem, const MachineSettings& settings)
      : machine_(std::move(problem), settings.deviation, settings.seed),
        deviation_(settings.deviation),
        later_(settings.later) {}

  schedule::Timeline measure(const schedule::Placement& placement, std::uint64_t run) override {
    // Worked out anew where it matters, so that a service that is resumed finds the same machine.
    exec::MachineSkew now = deviation_;
    for (const LaterSlowdown& change : later_) {
      if (run >= change.run) now.device_factors[change.device] = change.factor;
    }
    if (now != current_) machine_.change(current_ = now);
    return machine_.measure(placement, run);
  }

 private:
  exec::VirtualMachine machine_;
  exec::MachineSkew deviation_, current_ = deviation_;
  std::vector<LaterSlowdown> later_;
};

void check_settings(const cost::Problem& problem, const MachineSettings& settings) {
  const bool emulated = settings.backend == exec::kEmulatedBackend;
  const bool virtual_clock = settings.clock == exec::EngineClock::kVirtual;
  if (virtual_clock && !emulated) throw ParameterError("a virtual clock needs an emulated machine");
  if (settings.time_scale && (!emulated || virtual_clock)) {
    throw ParameterError("only an emulated machine on the wall clock has a time scale");
  }
  if (!emulated && settings.deviation != exec::MachineSkew{}) {
    throw ParameterError("only an emulated machine can be made slower or given jitter");
  }
  if (!virtual_clock && !settings.later.empty()) {
    throw ParameterError("devices slow down later on a virtual clock only");
  }
  for (const LaterSlowdown& change : settings.later) {
    if (!problem.topology().find_device(change.device)) {
      throw ParameterError(
          fmt::format("no device of {} is called '{}'", problem.topology().name(), change.device));
    }
    if (!(change.factor > 0.0)) throw ParameterError("a factor of time is above 0");
  }
  if (!emulated && problem.time_unit() != "s") {
    throw ParameterError(
        fmt::format("costs in '{}' cannot be compared with seconds", problem.time_unit()),
        Hint::kMeasuredOrRooflineCosts);
  }
}

// What learns takes only the time that nobody else wants: where it shares cores with the engine,
// runs would be slow because of it, and placements be chosen by how well they get along with it.
void stand_back() {
#ifdef SCHED_IDLE
  const sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);  // it learns without, too
#endif
}

void run_one(train::OnlineLearner& learner, schedule::Measurer& machine,
             const ServeSettings& settings) {
  const train::NextRun next = learner.next();
  schedule::Timeline timeline;
  try {
    timeline = machine.measure(*next.placement, next.number);
  } catch (const exec::HungError&) {
    throw;
  } catch (const InfeasibleError&) {
    if (!next.exploratory) throw;
    learner.report_failure();
    return;
  }
  // Told before it counts: a checkpoint that has the run then comes with what was told of it.
  if (settings.served) {
    settings.served({next.number, next.exploratory, timeline.makespan, *next.placement});
  }
  // A graph of nodes that take no time has nothing to learn from, but must not end the service.
  learner.report(std::max(timeline.makespan, 1e-12), &timeline);
}

}  // namespace

std::unique_ptr<schedule::Measurer> make_machine(std::shared_ptr<const cost::Problem> problem,
                                                 const schedule::Placement& typical,
                                                 const MachineSettings& settings) {
  check_settings(*problem, settings);
  if (settings.clock == exec::EngineClock::kVirtual) {
    return std::make_unique<ChangingMachine>(std::move(problem), settings);
  }
  const bool emulated = settings.backend == exec::kEmulatedBackend;
  const double scale =
      emulated ? settings.time_scale.value_or(exec::default_time_scale(*problem, typical)) : 1.0;
  exec::Values values;
  if (!emulated) values = exec::random_values(problem->graph(), settings.seed);
  return std::make_unique<exec::EngineMeasurer>(
      problem,
      exec::EngineOptions{.backend = settings.backend,
                          .computes = !emulated,
                          .machine = {settings.deviation, scale}},
      std::move(values), settings.seed);
}

void serve(train::OnlineLearner& learner, schedule::Measurer& machine,
           const ServeSettings& settings) {
  const auto more = [&] {
    return learner.summary().runs < settings.runs && !settings.stop.stop_requested();
  };
  if (!settings.beside) {
    // The learner comes first, so that a service that is resumed asks it just where one that was
    // not interrupted would have.
    while (more() && learner.work(settings.stop) != train::Work::kInterrupted) {
      run_one(learner, machine, settings);
      if (settings.idle) settings.idle();
    }
    return;
  }
  // Set when the last run ended or the service was asked to stop: what the learner works on then
  // would not be used any more.
  std::atomic<bool> over = false;
  const StopToken until_over(&over);
  std::exception_ptr failure;
  std::thread worker([&] {
    stand_back();
    try {
      while (!over) {
        const train::Work work = learner.work(until_over);
        if (settings.idle) settings.idle();
        if (work != train::Work::kDone) std::this_thread::sleep_for(kRest);
      }
    } catch (...) {
      failure = std::current_exception();
      over = true;
    }
  });
  std::exception_ptr run_failure;
  try {
    while (!over && more()) run_one(learner, machine, settings);
  } catch (...) {
    run_failure = std::current_exception();
  }
  over = true;
  worker.join();
  if (run_failure) std::rethrow_exception(run_failure);
  if (failure) std::rethrow_exception(failure);
  if (settings.idle) settings.idle();
}

}  // namespace doppler::train
