#include "doppler/study/training_curves.h"

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

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/units.h"

namespace doppler::study {
namespace {

namespace fs = std::filesystem;

// A curve has at most this many points; each stands for the updates of a stretch.
constexpr std::size_t kMostPoints = 500;
// Best times of more graphs than this are not listed.
constexpr std::size_t kMostListed = 12;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Row {
  double episodes = 0.0;
  std::string stage;
  std::uint64_t task = 0;
  double mean = 0.0;
  double best_so_far = 0.0;
};

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t end = line.find(separator);
    fields.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

// metrics.csv; columns are found by their titles.
class MetricsReader {
 public:
  explicit MetricsReader(std::string file) : file_(std::move(file)) {}

  std::vector<Row> read() {
    const std::string text = read_file(file_);
    std::vector<Row> rows;
    std::vector<std::size_t> columns;
    std::string_view rest = text;
    while (!rest.empty()) {
      ++line_;
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::vector<std::string_view> fields = split(rest.substr(0, end), ',');
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line_ == 1) {
        titles_ = fields.size();
        for (const char* title : {"episodes", "stage", "task", "mean", "best_so_far"}) {
          const auto found = std::find(fields.begin(), fields.end(), title);
          if (found == fields.end()) fail(fmt::format("no column '{}'", title));
          columns.push_back(static_cast<std::size_t>(found - fields.begin()));
        }
        continue;
      }
      if (fields.size() != titles_) {
        fail(fmt::format("{} fields instead of {}", fields.size(), titles_));
      }
      rows.push_back({.episodes = number<double>(fields[columns[0]]),
                      .stage = std::string(fields[columns[1]]),
                      .task = number<std::uint64_t>(fields[columns[2]]),
                      .mean = number<double>(fields[columns[3]]),
                      .best_so_far = number<double>(fields[columns[4]])});
      if (!(rows.back().episodes >= (rows.size() > 1 ? rows[rows.size() - 2].episodes : 0.0))) {
        fail("the number of episodes falls");
      }
    }
    return rows;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(fmt::format("{}:{}: {}", file_, line_, message));
  }

  template <class Number>
  Number number(std::string_view text) const {
    Number value{};
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
      fail(fmt::format("'{}' is not a number", text));
    }
    return value;
  }

  std::string file_;
  std::size_t line_ = 0;
  std::size_t titles_ = 0;
};

struct SeedRun {
  std::string name;
  std::vector<Row> rows;
};

bool holds_metrics(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "metrics.csv", error);
}

// The folder's own training, or those of its seeds by rising number.
std::vector<SeedRun> read_runs(const std::string& folder) {
  if (holds_metrics(folder)) return {{"", MetricsReader(folder + "/metrics.csv").read()}};
  constexpr std::string_view kSeed = "seed";
  std::map<std::uint64_t, fs::path> seeds;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kSeed) || !holds_metrics(entry.path())) continue;
    std::uint64_t seed = 0;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + kSeed.size(), end, seed);
    if (parsed.ec == std::errc() && parsed.ptr == end) seeds.emplace(seed, entry.path());
  }
  if (seeds.empty()) {
    throw InputError(
        fmt::format("{}: there is no training in this folder (no metrics.csv)", folder));
  }
  std::vector<SeedRun> runs;
  for (const auto& [seed, path] : seeds) {
    runs.push_back(
        {fmt::format("seed {}", seed), MetricsReader((path / "metrics.csv").string()).read()});
  }
  return runs;
}

// The best time of each task over all runs.
std::map<std::uint64_t, double> best_times(const std::vector<SeedRun>& runs) {
  std::map<std::uint64_t, double> best;
  for (const SeedRun& run : runs) {
    for (const Row& row : run.rows) {
      if (!std::isfinite(row.best_so_far) || row.best_so_far <= 0.0) continue;
      const auto [found, added] = best.try_emplace(row.task, row.best_so_far);
      if (!added) found->second = std::min(found->second, row.best_so_far);
    }
  }
  return best;
}

report::PageCurve curve_of(const SeedRun& run, const std::map<std::uint64_t, double>& best) {
  report::PageCurve curve{.name = run.name, .episodes = {}, .mean = {}, .best = {}};
  const std::size_t points = std::min(kMostPoints, run.rows.size());
  std::map<std::uint64_t, double> now;  // by task: the best so far as a share of the best of all
  for (std::size_t p = 0; p < points; ++p) {
    double sum = 0.0;
    std::size_t count = 0;
    const std::size_t end = (p + 1) * run.rows.size() / points;
    for (std::size_t i = p * run.rows.size() / points; i < end; ++i) {
      const Row& row = run.rows[i];
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

std::vector<report::PageStage> stages_of(const std::vector<Row>& rows) {
  std::vector<report::PageStage> stages;
  for (const Row& row : rows) {
    if (stages.empty() || stages.back().name != row.stage) {
      const double from = stages.empty() ? 0.0 : stages.back().to_episode;
      stages.push_back({.name = row.stage, .from_episode = from, .to_episode = from});
    }
    stages.back().to_episode = row.episodes;
  }
  return stages;
}

// What configuration.json says of graphs and devices; nothing where there is none.
struct Subject {
  std::vector<std::string> graphs;
  std::string devices, list, model;
};

Subject read_subject(const std::string& folder) {
  Subject subject;
  std::error_code error;
  for (const fs::path& place : {fs::path(folder), fs::path(folder) / "seed1"}) {
    const std::string file = (place / "configuration.json").string();
    if (!fs::is_regular_file(file, error)) continue;
    const std::string text = read_file(file);
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
    break;
  }
  return subject;
}

}  // namespace

report::PageTraining read_training_curves(const std::string& folder) {
  const std::vector<SeedRun> runs = read_runs(folder);
  const std::map<std::uint64_t, double> best = best_times(runs);
  const Subject subject = read_subject(folder);
  report::PageTraining training{.name = folder, .facts = {}, .stages = {}, .curves = {}};
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

}  // namespace doppler::study
