#include "doppler/train/session/offline_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/train/session/checkpoint.h"

namespace doppler::train {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr const char* kMetricsHeader =
    "update,episodes,stage,task,rate,mean,best,best_so_far,misfits,gradient,log_sel,log_plc,"
    "rolled_back,seconds\n";

// Between two checkpoints there are at least this many times as many seconds of training as saving
// takes: the largest networks make files of a hundred megabytes.
constexpr double kLeastWorkPerSaving = 10.0;

std::string checkpoint_of(const std::string& path) {
  return path + "/checkpoint.json";
}
std::string policy_of(const std::string& path) {
  return path + "/policy.json";
}
std::string metrics_of(const std::string& path) {
  return path + "/metrics.csv";
}

}  // namespace

ParameterError folder_taken(const std::string& folder) {
  return ParameterError(fmt::format("{}: there is a training in this folder", folder),
                        Hint::kResumeTraining);
}

bool RunFolder::exists(const std::string& path) {
  std::error_code error;
  return fs::exists(checkpoint_of(path), error);
}

void RunFolder::require_free(const std::string& path) {
  std::error_code error;
  if (exists(path) || fs::exists(policy_of(path), error)) {
    throw folder_taken(path);
  }
}

RunFolder RunFolder::create(const std::string& path) {
  require_free(path);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw SystemError(fmt::format("{}: {}", path, error.message()));
  remove_temporary_files(path);
  check_writable(checkpoint_of(path));
  return RunFolder(path);
}

RunFolder RunFolder::open(const std::string& path) {
  if (!exists(path)) {
    throw InputError(fmt::format("{}: there is no training to go on with", path));
  }
  remove_temporary_files(path);
  RunFolder folder(path);
  folder.read_metrics();
  return folder;
}

void RunFolder::write_configuration(const std::string& json) const {
  write_file(path_ + "/configuration.json", json);
}

TrainingState RunFolder::read_state() {
  const std::string file = checkpoint_of(path_);
  TrainingState state = read_checkpoint_json(file, read_regular_file(file));
  std::erase_if(metrics_, [&](const Row& row) { return row.update > state.updates; });
  return state;
}

void RunFolder::read_metrics() {
  std::error_code error;
  if (!fs::exists(metrics_of(path_), error)) return;
  const std::string text = read_regular_file(metrics_of(path_));
  std::size_t begin = text.find('\n') + 1;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::string line = text.substr(begin, end + 1 - begin);
    std::uint64_t update = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), update);
    // Lines that no training has written are left out, and so is one that was cut off.
    const bool rises = metrics_.empty() || update > metrics_.back().update;
    if (parsed.ec == std::errc() && *parsed.ptr == ',' && rises) {
      metrics_.push_back({update, std::move(line)});
    }
  }
}

void RunFolder::add(const UpdateReport& report, double seconds) {
  metrics_.push_back(
      {report.update,
       fmt::format("{},{},{},{},{:.6g},{:.9g},{:.9g},{:.9g},{},{:.4g},{:.6g},{:.6g},{},{:.3f}\n",
                   report.update, report.episodes, stage_name(report.stage), report.task,
                   report.rate, report.batch.mean, report.batch.best, report.best_time,
                   report.batch.misfits, report.batch.gradient_length,
                   report.batch.log_probability.sel, report.batch.log_probability.plc,
                   report.rolled_back ? 1 : 0, seconds)});
}

void RunFolder::save(const Training& training, const std::string& origin) {
  const TrainingState state = training.state();
  policy::Policy policy = training.policy();
  policy.origin = origin;
  // A folder counts as begun when it has a checkpoint, and no policy may be there before that.
  // Later on the checkpoint comes last, since one that is complete promises a policy that is.
  const bool first = !exists(path_);
  if (first) write_file_durably(checkpoint_of(path_), write_checkpoint_json(state));
  std::string text = kMetricsHeader;
  for (const Row& row : metrics_) text += row.text;
  write_file_durably(metrics_of(path_), text);
  write_file_durably(policy_path(), policy::write_policy_json(policy));
  if (!first) write_file_durably(checkpoint_of(path_), write_checkpoint_json(state));
}

OfflineRun::OfflineRun(Training training, RunFolder folder, std::uint64_t seed, bool resume)
    : training_(std::move(training)), folder_(std::move(folder)), seed_(seed) {
  if (resume) {
    TrainingState state = folder_.read_state();
    try {
      training_.restore(std::move(state));
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", folder_.path(), error.what()));
    }
  } else {
    save();
  }
  episodes_before_ = training_.episodes();
}

void OfflineRun::go(const StopToken& stop, const std::function<void(const UpdateReport&)>& report) {
  // The policy in the folder may be that of a later stage by now, so that only a missing one is
  // written again.
  std::error_code error;
  if (training_.done() && fs::exists(policy_of(folder_.path()), error)) return;
  const Clock::time_point begin = Clock::now();
  Clock::time_point saved = begin;
  double saving_seconds = 0.0;  // of the last time
  while (!training_.done() && !stop.stop_requested()) {
    const UpdateReport update = training_.update();
    rollbacks_ += update.rolled_back;
    folder_.add(update, seconds_since(begin));
    report(update);
    if (seconds_since(saved) > std::max(kCheckpointSeconds, kLeastWorkPerSaving * saving_seconds)) {
      const Clock::time_point saving = Clock::now();
      save();
      saving_seconds = seconds_since(saving);
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
