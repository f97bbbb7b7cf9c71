#include "doppler/train/session/service_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "doppler/base/csv_reader.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/statistics.h"
#include "doppler/policy/policy.h"
#include "doppler/train/session/run_folder.h"
#include "doppler/train/session/session.h"

namespace doppler::train {
namespace {

namespace fs = std::filesystem;

// The most runs whose median is given at the beginning and at the end of the service.
constexpr std::size_t kMedianRuns = 50;
// The most runs of a service: a double counts no further.
constexpr std::uint64_t kMostRuns = std::uint64_t{1} << 53;

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

void write_placement_file(const std::string& path, const schedule::Placement& placement,
                          const char* method, const TrainingProblem& problem, std::uint64_t seed) {
  schedule::PlacementFile file{.origin = problem.origin, .placement = placement};
  file.origin.method = method;
  file.origin.seed = seed;
  write_file(path, schedule::write_placement_json(*problem.problem, file));
}

}  // namespace

std::string write_service_rows(std::span<const ServiceRow> rows) {
  std::string text = "run,exploratory,time,promotions\n";
  for (const ServiceRow& row : rows) {
    text += fmt::format("{},{},{:.9g},{}\n", row.run, row.exploratory ? 1 : 0, row.time,
                        row.promotions);
  }
  return text;
}

std::vector<ServiceRow> read_service_rows(const std::string& file) {
  const std::string text = read_file(file);
  CsvReader reader(file, text, {"run", "exploratory", "time", "promotions"});
  std::vector<ServiceRow> rows;
  while (reader.next()) {
    const ServiceRow row{.run = reader.number<std::uint64_t>(0),
                         .exploratory = reader.number<int>(1) != 0,
                         .time = reader.number<double>(2),
                         .promotions = reader.number<std::size_t>(3)};
    if (!rows.empty() && row.run <= rows.back().run) reader.fail("the numbers of runs do not rise");
    if (row.run > kMostRuns) reader.fail("no service has so many runs");
    if (!std::isfinite(row.time) || row.time < 0.0) reader.fail("a run takes some time");
    rows.push_back(row);
  }
  return rows;
}

bool ServiceFolder::has_state() const {
  return is_there(state_path());
}

void ServiceFolder::require_free() const {
  if (has_state()) throw folder_taken(path_);
  for (const std::string& file : {placement_path(), start_path(), runs_path()}) {
    if (!is_there(file)) continue;
    throw ParameterError(
        fmt::format("{}: would be replaced, and is of no service: name another folder", file));
  }
}

void ServiceFolder::create() const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw SystemError(fmt::format("{}: {}", path_, error.message()));
  check_writable(state_path());
}

void ServiceFolder::read_rows(const OnlineSummary& checkpoint) {
  std::uint64_t served = 0;
  for (const ServiceRow& row : read_service_rows(runs_path())) {
    if (row.run >= checkpoint.runs) break;
    served += row.exploratory ? 0 : 1;
    add(row);
  }
  // Candidates that failed have no row, so that only the incumbent's runs can be counted.
  if (served != checkpoint.runs - checkpoint.explored) {
    throw InputError(fmt::format("{}: {} runs of the incumbent, where the service had {}",
                                 runs_path(), served, checkpoint.runs - checkpoint.explored));
  }
}

void ServiceFolder::add(const ServiceRow& row) {
  const std::lock_guard lock(mutex_);
  rows_.push_back(row);
}

void ServiceFolder::write_start(const schedule::Placement& start, const TrainingProblem& problem,
                                std::uint64_t seed) const {
  write_placement_file(start_path(), start, "start", problem, seed);
}

void ServiceFolder::save(const OnlineLearner& learner, const TrainingProblem& problem,
                         std::uint64_t seed) {
  const std::string state = learner.state_json();
  write_placement_file(placement_path(), *learner.incumbent(), "online", problem, seed);
  if (auto policy = learner.policy()) {
    policy->origin = fmt::format("dopp train, stage real, seed {}", seed);
    write_file(policy_path(), policy::write_policy_json(*policy));
  }
  std::string rows;
  {
    const std::lock_guard lock(mutex_);
    rows = write_service_rows(rows_);
  }
  write_file(runs_path(), rows);
  write_file(state_path(), state);
}

std::pair<double, double> ServiceFolder::medians() const {
  std::vector<double> served;
  for (const ServiceRow& row : rows_) {
    if (!row.exploratory) served.push_back(row.time);
  }
  if (served.empty()) return {0.0, 0.0};
  const auto count = static_cast<std::ptrdiff_t>(std::min(kMedianRuns, (served.size() + 1) / 2));
  return {median({served.begin(), served.begin() + count}),
          median({served.end() - count, served.end()})};
}

}  // namespace doppler::train
