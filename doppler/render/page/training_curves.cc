#include "doppler/render/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "doppler/base/csv_reader.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/statistics.h"
#include "doppler/base/units.h"
#include "doppler/train/session/service_stage.h"

namespace doppler::render {
namespace {

namespace fs = std::filesystem;

// A curve has at most this many points; each stands for the updates of a stretch.
constexpr std::size_t kMostPoints = 500;
// The curve of a service has at most this many points, so that each stands for enough runs to show
// more than noise.
constexpr std::size_t kMostServicePoints = 80;
// Best times of more graphs than this are not listed.
constexpr std::size_t kMostListed = 12;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct MetricsRow {
  double episodes = 0.0;
  std::string stage;
  std::uint64_t task = 0;
  double mean = 0.0;
  double best_so_far = 0.0;
};

std::vector<MetricsRow> read_metrics(const std::string& file) {
  const std::string text = read_regular_file(file);
  CsvReader reader(file, text, {"episodes", "stage", "task", "mean", "best_so_far"});
  std::vector<MetricsRow> rows;
  while (reader.next()) {
    MetricsRow row{.episodes = reader.number<double>(0),
                   .stage = std::string(reader.text(1)),
                   .task = reader.number<std::uint64_t>(2),
                   .mean = reader.number<double>(3),
                   .best_so_far = reader.number<double>(4)};
    if (!std::isfinite(row.episodes)) reader.fail("the number of episodes is not finite");
    if (!(row.episodes >= (rows.empty() ? 0.0 : rows.back().episodes))) {
      reader.fail("the number of episodes falls");
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

struct SeedRun {
  std::string name, folder;
  std::vector<MetricsRow> rows;
};

bool holds(const fs::path& folder, const char* file) {
  std::error_code error;
  return fs::is_regular_file(folder / file, error);
}

// The folder's own training, or those of its seeds by rising number; none where there is none.
std::vector<SeedRun> read_runs(const std::string& folder) {
  if (holds(folder, "metrics.csv")) {
    return {{.name = "", .folder = folder, .rows = read_metrics(folder + "/metrics.csv")}};
  }
  constexpr std::string_view kSeed = "seed";
  std::map<std::uint64_t, fs::path> seeds;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kSeed) || !holds(entry.path(), "metrics.csv")) continue;
    std::uint64_t seed = 0;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + kSeed.size(), end, seed);
    if (parsed.ec == std::errc() && parsed.ptr == end) seeds.emplace(seed, entry.path());
  }
  std::vector<SeedRun> runs;
  for (const auto& [seed, path] : seeds) {
    runs.push_back({.name = fmt::format("seed {}", seed),
                    .folder = path.string(),
                    .rows = read_metrics((path / "metrics.csv").string())});
  }
  return runs;
}

// The best time of each task over all runs.
std::map<std::uint64_t, double> best_times(const std::vector<SeedRun>& runs) {
  std::map<std::uint64_t, double> best;
  for (const SeedRun& run : runs) {
    for (const MetricsRow& row : run.rows) {
      if (!std::isfinite(row.best_so_far) || row.best_so_far <= 0.0) continue;
      const auto [found, added] = best.try_emplace(row.task, row.best_so_far);
      if (!added) found->second = std::min(found->second, row.best_so_far);
    }
  }
  return best;
}

PageCurve curve_of(const SeedRun& run, const std::map<std::uint64_t, double>& best) {
  PageCurve curve{.name = run.name, .episodes = {}, .mean = {}, .best = {}};
  const std::size_t points = std::min(kMostPoints, run.rows.size());
  std::map<std::uint64_t, double> now;  // by task: the best so far as a share of the best of all
  for (std::size_t p = 0; p < points; ++p) {
    double sum = 0.0;
    std::size_t count = 0;
    const std::size_t end = (p + 1) * run.rows.size() / points;
    for (std::size_t i = p * run.rows.size() / points; i < end; ++i) {
      const MetricsRow& row = run.rows[i];
      const auto reference = best.find(row.task);
      if (reference == best.end()) continue;
      if (std::isfinite(row.mean) && row.mean > 0.0) {
        sum += row.mean / reference->second;
        ++count;
      }
      if (std::isfinite(row.best_so_far)) now[row.task] = row.best_so_far / reference->second;
    }
    double best_sum = 0.0;
    for (const auto& [task, share] : now) best_sum += share;
    curve.episodes.push_back(run.rows[end - 1].episodes);
    curve.mean.push_back(count == 0 ? kNaN : sum / static_cast<double>(count));
    curve.best.push_back(now.empty() ? kNaN : best_sum / static_cast<double>(now.size()));
  }
  return curve;
}

std::vector<PageStage> stages_of(const std::vector<MetricsRow>& rows) {
  std::vector<PageStage> stages;
  for (const MetricsRow& row : rows) {
    if (stages.empty() || stages.back().name != row.stage) {
      const double from = stages.empty() ? 0.0 : stages.back().to_episode;
      stages.push_back({.name = row.stage, .from_episode = from, .to_episode = from});
    }
    stages.back().to_episode = row.episodes;
  }
  return stages;
}

// Holds what configuration.json says of graphs and devices; it is empty without such a file.
struct CurveSubject {
  std::vector<std::string> graphs;
  std::string devices, list, model;
};

CurveSubject read_subject(const std::string& folder) {
  CurveSubject subject;
  if (!holds(folder, "configuration.json")) return subject;
  const std::string file = folder + "/configuration.json";
  const std::string text = read_regular_file(file);
  JsonReader reader(file, text);
  reader.begin_object();
  while (const auto key = reader.next_key()) {
    const std::string name(*key);
    if (name == "graphs") {
      reader.begin_array();
      while (reader.next_element()) subject.graphs.push_back(reader.string());
    } else if (name == "devices") {
      subject.devices = reader.string();
    } else if (name == "list") {
      subject.list = reader.string();
    } else if (name == "model") {
      subject.model = reader.string();
    } else {
      reader.skip_value();
    }
  }
  return subject;
}

PageTraining training_of(const std::string& folder, const std::vector<SeedRun>& runs) {
  const std::map<std::uint64_t, double> best = best_times(runs);
  const CurveSubject subject = read_subject(runs.front().folder);
  PageTraining training{.name = folder, .facts = {}, .stages = {}, .curves = {}};
  double episodes = 0.0;
  for (const SeedRun& run : runs) {
    if (!run.rows.empty()) episodes += run.rows.back().episodes;
    training.curves.push_back(curve_of(run, best));
  }
  training.stages = stages_of(runs.front().rows);

  training.facts.push_back(
      fmt::format("{} episodes{}{}.", format_integer(static_cast<std::uint64_t>(episodes)),
                  runs.size() > 1 ? fmt::format(" over {} seeds", runs.size()) : "",
                  subject.model.empty() ? "" : fmt::format(", model {}", subject.model)));
  // With one kind of devices the tasks are the graphs, in their order.
  const bool named = subject.graphs.size() == best.size() && !best.empty();
  if (best.size() > kMostListed || (!named && best.size() > 1)) {
    training.facts.push_back(
        fmt::format("{} pairs of graph and devices{}.", best.size(),
                    subject.list.empty() ? "" : ", listed in " + subject.list));
  }
  for (const auto& [task, time] : best) {
    if (!named || best.size() > kMostListed) break;
    training.facts.push_back(fmt::format("Best of {} on {}: {:.6g}.",
                                         task < subject.graphs.size() ? subject.graphs[task] : "?",
                                         subject.devices, time));
  }
  return training;
}

// A stretch of runs is a point: the mean of all of them, and the middle of those of the placement
// in service, as shares of the least of these.
PageTraining service_of(const std::string& folder, const std::vector<train::ServiceRow>& rows) {
  PageTraining training{.name = folder, .facts = {}, .stages = {}, .curves = {}};
  PageCurve curve{.name = "", .episodes = {}, .mean = {}, .best = {}};
  const std::size_t points = std::min(kMostServicePoints, rows.size());
  std::size_t explored = 0;
  for (std::size_t p = 0; p < points; ++p) {
    double sum = 0.0;
    std::vector<double> served;
    const std::size_t begin = p * rows.size() / points, end = (p + 1) * rows.size() / points;
    for (std::size_t i = begin; i < end; ++i) {
      sum += rows[i].time;
      if (!rows[i].exploratory) served.push_back(rows[i].time);
    }
    explored += end - begin - served.size();
    curve.episodes.push_back(static_cast<double>(rows[end - 1].run + 1));
    curve.mean.push_back(sum / static_cast<double>(end - begin));
    curve.best.push_back(served.empty() ? kNaN : median(std::move(served)));
  }
  double least = 0.0;
  for (const double time : curve.best) {
    if (time > 0.0 && (least == 0.0 || time < least)) least = time;
  }
  for (auto* times : {&curve.mean, &curve.best}) {
    for (double& time : *times) time = least > 0.0 ? time / least : kNaN;
  }
  if (!rows.empty()) {
    const double runs = curve.episodes.back();
    training.stages.push_back({.name = "real, runs", .from_episode = 0.0, .to_episode = runs});
    training.facts.push_back(fmt::format(
        "{} runs in service, {} of them exploratory; {} placements had taken over before the last.",
        format_integer(static_cast<std::uint64_t>(runs)), format_integer(explored),
        rows.back().promotions));
    training.facts.push_back(
        fmt::format("A point stands for {} runs: dashed the mean of all of them, solid the middle "
                    "of those of the "
                    "placement in service, as shares of the least of these.",
                    rows.size() / points));
  }
  training.curves.push_back(std::move(curve));
  training.unit = "runs";
  return training;
}

}  // namespace

std::vector<PageTraining> read_training_curves(const std::string& folder) {
  std::vector<PageTraining> trainings;
  // Stage real as published has a folder of its own.
  for (const std::string& path : {folder, folder + "/real"}) {
    const std::vector<SeedRun> runs = read_runs(path);
    if (!runs.empty()) trainings.push_back(training_of(path, runs));
  }
  if (holds(folder, "runs.csv")) {
    trainings.push_back(service_of(folder, train::read_service_rows(folder + "/runs.csv")));
  }
  if (trainings.empty()) {
    throw InputError(fmt::format(
        "{}: there is no training in this folder (neither metrics.csv nor runs.csv)", folder));
  }
  return trainings;
}

}  // namespace doppler::render
