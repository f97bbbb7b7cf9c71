// How busy devices are over the time of a run.
#include <fmt/format.h>

#include <algorithm>

#include "doppler/render/charts/line_chart.h"
#include "doppler/sim/simulator.h"
#include "doppler/sim/synchronous.h"
#include "lab/experiments/experiments.h"
#include "lab/markdown.h"
#include "lab/trial.h"
#include "lab/verdicts.h"

namespace doppler::lab {
namespace {

constexpr const char* kEnumerativeSynchronous = "enumerative, synchronous";
constexpr const char* kUtilisationMethods[] = {kEnumerativeSynchronous, "critical-path",
                                               "enumerative", kDopplerSim};
constexpr const char* kUtilisationTitles[] = {kEnumerativeSynchronous, "critical path",
                                              "enumerative", "DOPPLER-SIM"};

constexpr const char* kMean = "mean_utilisation";
constexpr const char* kTimes = "seconds";
constexpr const char* kShares = "busy_share";
constexpr std::size_t kBins = 40;  // of a run

// Of all devices together, by equal parts of the run.
std::vector<double> busy_shares(const cost::Problem& problem, const schedule::Timeline& timeline) {
  std::vector<double> busy(kBins, 0.0);
  const double bin = timeline.makespan / static_cast<double>(kBins);
  if (!(bin > 0.0)) return busy;
  for (const schedule::NodeRun& run : timeline.nodes) {
    const auto first = static_cast<std::size_t>(run.start / bin);
    for (std::size_t b = first; b < kBins && static_cast<double>(b) * bin < run.end; ++b) {
      const double low = std::max(run.start, static_cast<double>(b) * bin);
      const double high = std::min(run.end, static_cast<double>(b + 1) * bin);
      busy[b] += std::max(0.0, high - low);
    }
  }
  for (double& share : busy) share /= bin * static_cast<double>(problem.device_count());
  return busy;
}

class Utilisation final : public Experiment {
 public:
  std::string_view name() const override { return "utilisation"; }
  std::string_view title() const override { return "Utilisation over time"; }

  Columns columns(const Lab&) const override {
    return {.keys = {"graph", "method"}, .numbers = {kMean}, .series = {kTimes, kShares}};
  }

  std::vector<Cell> cells(const Lab& lab) const override {
    std::vector<Cell> cells;
    for (const std::string& graph : lab.scale().graphs) {
      for (std::size_t i = 0; i < std::size(kUtilisationMethods); ++i) {
        add_seeds(cells, lab, {graph, file_name(i)},
                  kUtilisationMethods[i] == kDopplerSim ? 3.0 : 0.1);
      }
    }
    return cells;
  }

  Outcome run(const Lab& lab, const Cell& cell) const override {
    const auto& problem = lab.problem(kFourDevices, cell.key[0]);
    const bool synchronous = cell.key[1] == file_name(0);
    const schedule::Placement placement =
        place_by(lab, problem, synchronous ? "enumerative" : cell.key[1], cell.seed);
    const schedule::Timeline timeline = synchronous ? sim::run_synchronous(*problem, placement)
                                                    : sim::Simulator(*problem).timeline(placement);
    std::vector<double> shares = busy_shares(*problem, timeline), times;
    for (std::size_t b = 0; b < kBins; ++b) {
      times.push_back(timeline.makespan * (static_cast<double>(b) + 0.5) /
                      static_cast<double>(kBins));
    }
    return {.numbers = {mean_of(shares).value}, .series = {std::move(times), std::move(shares)}};
  }

  Section show(const Lab& lab, const Results& results) const override {
    Section section{
        .question =
            "The paper's claim: without barriers and with DOPPLER's assignments devices stay busy.",
        .differs =
            "4xP100, simulated; the share of devices that compute, all together, over a run in 40 "
            "parts; lines are of the first seed, means of all."};
    std::vector<std::string> titles{"graph"};
    for (const char* title : kUtilisationTitles) titles.emplace_back(title);
    MarkdownTable table(titles);
    render::LineChart chart{
        .x_label = "ms",
        .y_label = "devices that compute, %",
        .series = {std::begin(kUtilisationTitles), std::end(kUtilisationTitles)},
        .from_zero = true,
        .columns = 2};
    std::vector<GraphRatio> ratios;
    for (const std::string& graph : lab.scale().graphs) {
      std::vector<std::string> row{graph};
      render::LinePanel panel{.title = graph};
      for (std::size_t i = 0; i < std::size(kUtilisationMethods); ++i) {
        const Key key{graph, file_name(i)};
        row.push_back(text_of(results.mean(key, kMean), 100.0) + " %");
        render::Line line{.series = i};
        for (const double time : results.first_series(key, kTimes)) line.x.push_back(1e3 * time);
        for (const double share : results.first_series(key, kShares)) {
          line.y.push_back(100.0 * share);
        }
        panel.lines.push_back(std::move(line));
      }
      table.add(row);
      chart.panels.push_back(std::move(panel));
      ratios.push_back({graph, results.ratio({graph, kDopplerSim}, {graph, file_name(0)}, kMean)});
    }
    section.tables = "Mean utilisation:\n\n" + table.text();
    section.pictures.push_back(
        {"utilisation", "Utilisation over time", render::line_chart_svg(chart)});
    section.findings.push_back(more_is_better(
        "DOPPLER without barriers keeps devices busier than a synchronous system (utilisation / "
        "utilisation)",
        "pictures only", ratios));
    return section;
  }

 private:
  // Of keys: no commas there.
  static std::string file_name(std::size_t method) {
    return kUtilisationMethods[method] == kEnumerativeSynchronous ? "enumerative synchronous"
                                                                  : kUtilisationMethods[method];
  }
};

}  // namespace

std::unique_ptr<Experiment> make_utilisation() {
  return std::make_unique<Utilisation>();
}

}  // namespace doppler::lab
