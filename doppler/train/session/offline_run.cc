#include "doppler/train/session/offline_run.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "doppler/train/session/checkpoint.h"

namespace doppler::train {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

OfflineRun::OfflineRun(Training training, RunFolder folder, std::uint64_t seed, bool resume)
    : training_(std::move(training)), folder_(std::move(folder)), seed_(seed) {
  if (resume) {
    training_.restore(folder_.read_state());
  } else {
    save();
  }
}

void OfflineRun::go(const StopToken& stop, const std::function<void(const UpdateReport&)>& report) {
  const Clock::time_point begin = Clock::now();
  Clock::time_point saved = begin;
  while (!training_.done() && !stop.stop_requested()) {
    const UpdateReport update = training_.update();
    rollbacks_ += update.rolled_back;
    ++updates_here_;
    folder_.add(update, seconds_since(begin));
    report(update);
    if (seconds_since(saved) > kCheckpointSeconds) {
      save();
      saved = Clock::now();
    }
  }
  save();
}

void OfflineRun::save() {
  folder_.save(training_, fmt::format("dopp train, seed {}", seed_));
}

double OfflineRun::mean_best() const {
  double logs = 0.0;
  for (std::size_t i = 0; i < training_.task_count(); ++i) {
    logs += std::log(training_.task(i).best_time());
  }
  return std::exp(logs / static_cast<double>(training_.task_count()));
}

}  // namespace doppler::train
