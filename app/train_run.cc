#include "app/train_run.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "doppler/base/stop.h"

namespace doppler::app {
namespace {

using Clock = std::chrono::steady_clock;

// Between two checkpoints; a kill loses no more than that.
constexpr double kRunSaveSeconds = 5.0;

}  // namespace

TrainRun::TrainRun(train::Training training, train::RunFolder folder, std::uint64_t seed,
                   bool resume)
    : training_(std::move(training)), folder_(std::move(folder)), seed_(seed) {
  if (resume) {
    training_.restore(folder_.read_state());
  } else {
    save();
  }
}

void TrainRun::go(const StopToken& stop,
                  const std::function<void(const train::UpdateReport&)>& report) {
  const Clock::time_point begin = Clock::now();
  Clock::time_point saved = begin;
  while (!training_.done() && !stop.interrupted()) {
    const train::UpdateReport update = training_.update();
    rollbacks_ += update.rolled_back;
    ++updates_here_;
    folder_.add(update, seconds_since(begin));
    report(update);
    if (seconds_since(saved) > kRunSaveSeconds) {
      save();
      saved = Clock::now();
    }
  }
  save();
}

void TrainRun::save() {
  folder_.save(training_, fmt::format("dopp train, seed {}", seed_));
}

double TrainRun::mean_best() const {
  double logs = 0.0;
  for (std::size_t i = 0; i < training_.task_count(); ++i) {
    logs += std::log(training_.task(i).best_time());
  }
  return std::exp(logs / static_cast<double>(training_.task_count()));
}

}  // namespace doppler::app
