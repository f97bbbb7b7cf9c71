#include "doppler/train/online/service.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/exec/engine.h"

namespace doppler::train {
namespace {

// Between two looks of a learner that has nothing to do.
constexpr std::chrono::milliseconds kPause(1);

// What learns takes only the time that nobody else wants: where it shares cores with the engine,
// runs would be slow because of it, and placements be chosen by how well they get along with it.
void use_idle_priority() {
#ifdef SCHED_IDLE
  const sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);  // it learns without, too
#endif
}

void run_one(OnlineLearner& learner, schedule::Measurer& machine, const ServeSettings& settings) {
  const NextRun next = learner.next();
  schedule::Timeline timeline;
  const auto report_failure = [&] {  // of the exception that is being handled
    if (!next.exploratory) throw;
    learner.report_failure();
  };
  try {
    timeline = machine.measure(*next.placement, next.number);
  } catch (const exec::HungError&) {
    throw;  // the machine cannot run any more
  } catch (const InfeasibleError&) {
    return report_failure();
  } catch (const RunError&) {
    return report_failure();
  }
  // Told before it counts: a checkpoint that has the run then comes with what was told of it.
  if (settings.served) {
    settings.served({next.number, next.exploratory, timeline.makespan, *next.placement});
  }
  // A graph of nodes that take no time has nothing to learn from, but must not end the service.
  learner.report(std::max(timeline.makespan, 1e-12), &timeline);
}

}  // namespace

void serve(OnlineLearner& learner, schedule::Measurer& machine, const ServeSettings& settings) {
  const auto more = [&] {
    return learner.summary().runs < settings.runs && !settings.stop.stop_requested();
  };
  if (!settings.beside) {
    // The learner comes first, so that a service that is resumed asks it just where one that was
    // not interrupted would have.
    while (more() && learner.work(settings.stop) != Work::kInterrupted) {
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
    use_idle_priority();
    try {
      while (!over) {
        const Work work = learner.work(until_over);
        if (settings.idle) settings.idle();
        if (work != Work::kDone) std::this_thread::sleep_for(kPause);
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
