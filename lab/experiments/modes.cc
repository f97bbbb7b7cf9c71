// Two experiments: work-conserving against bulk-synchronous execution, and the utilisation of
// devices over a run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doppler/render/charts/charts.h"
#include "doppler/sim/simulator.h"
#include "lab/context.h"
#include "lab/experiment.h"
#include "lab/published.h"
#include "lab/reproduce.h"

namespace doppler::lab {

namespace {

constexpr const char* kWorkConserving = "work_conserving";
constexpr const char* kSynchronous = "synchronous";
constexpr const char* kEnumerative = "enumerative";
constexpr const char* kModeMethods[] = {kEnumerative, kCriticalPath, "heft",
                                        "peft",       "round-robin", "lns"};

class Modes final : public Experiment {
 public:
  std::string_view name() const override { return "modes"; }
  std::string_view title() const override { return "Work-conserving against synchronous"; }

  Columns columns(const ReproductionContext&) const override {
    return {.keys = {"machine", "graph", "method"}, .numbers = {kWorkConserving, kSynchronous}};
  }

  std::vector<Cell> cells(const ReproductionContext& context) const override {
    std::vector<Cell> cells;
    for (const char* machine : {kFourDevices, kEightDevices}) {
      for (const std::string& graph : context.scale().graphs) {
        for (const char* method : kModeMethods) {
          add_seeds(cells, context, {machine, graph, method},
                    method == std::string("lns") ? 2.0 : 0.1);
        }
      }
    }
    return cells;
  }

  Outcome run(const ReproductionContext& context, const Cell& cell) const override {
    const auto& problem = context.problem(cell.key[0], cell.key[1]);
    const schedule::Placement placement = place_by(context, problem, cell.key[2], cell.seed);
    return {.numbers = {simulated(*problem, placement),
                        sim::run_synchronous(*problem, placement).makespan}};
  }

  Section show(const ReproductionContext& context, const Results& results) const override {
    Section section{
        .question =
            "The paper's claim: without barriers the same graph runs much faster. Published for "
            "two graphs on four GPUs.",
        .differs =
            "Both ways are simulated; barriers themselves cost nothing here, only the waiting "
            "does. The enumerative assignment is the same in both columns; \"best\" is the better "
            "of six methods for each way by itself. Where all devices do the same at the same "
            "time, levels are even and barriers cost little: FFNN split by rows moves nothing, so "
            "that nothing in its structure explains the published factor."};
    MarkdownTable table({"machine", "graph", "enumerative, no barriers", "with barriers", "factor",
                         "best, no barriers", "best with barriers", "factor", "published"});
    render::BarChart chart{.y_label = "synchronous / work-conserving",
                           .series = {"the enumerative assignment", "the best for each"},
                           .reference = "published, the enumerative assignment",
                           .line = 1.0,
                           .columns = 2};
    std::vector<GraphRatio> same, known_ratios;
    for (const std::string machine : {kFourDevices, kEightDevices}) {
      render::BarPanel panel{.title = machine};
      for (const std::string& graph : context.scale().graphs) {
        const Key key{machine, graph, kEnumerative};
        const Estimate factor = results.ratio_within(key, kSynchronous, kWorkConserving);
        const Estimate wc = best(results, machine, graph, kWorkConserving);
        const Estimate sync = best(results, machine, graph, kSynchronous);
        const PublishedTimes* times = machine == kFourDevices ? published(graph) : nullptr;
        const double known = times ? times->synchronous / times->enumerative : kAbsent;
        table.add(
            {machine, graph, text_of(results.mean(key, kWorkConserving), 1e3),
             text_of(results.mean(key, kSynchronous), 1e3), ratio_text(factor), text_of(wc, 1e3),
             text_of(sync, 1e3),
             ratio_text({.value = sync.value / wc.value, .samples = wc.samples > 0 ? 1u : 0u}),
             std::isfinite(known) ? fmt::format("{:.2f}", known) : ""});
        panel.groups.push_back(
            {graph,
             {{.value = factor.value, .low = factor.low, .high = factor.high, .reference = known},
              {.value = sync.value / wc.value}}});
        if (machine == kFourDevices) same.push_back({graph, factor});
        if (std::isfinite(known)) known_ratios.push_back({graph, {.value = known, .samples = 1}});
      }
      chart.panels.push_back(std::move(panel));
    }
    section.tables = "Milliseconds, simulated:\n\n" + table.text();
    section.pictures.push_back({"modes", "What barriers cost", render::bar_chart_svg(chart)});
    section.findings.push_back(more_is_better(
        "Synchronous execution takes longer than work-conserving (factor, same assignment, four "
        "devices)",
        ratios_text(known_ratios), same));
    return section;
  }

 private:
  // Returns the least mean over the methods.
  static Estimate best(const Results& results, const std::string& machine, const std::string& graph,
                       const char* number) {
    Estimate best{};
    for (const char* method : kModeMethods) {
      const Estimate mean = results.mean({machine, graph, method}, number);
      if (mean.present() && (!best.present() || mean.value < best.value)) best = mean;
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<Experiment> make_modes() {
  return std::make_unique<Modes>();
}

// --- utilisation: how busy devices are over the time of a run ---

namespace {

constexpr const char* kEnumerativeSynchronous = "enumerative, synchronous";
constexpr const char* kUtilisationMethods[] = {kEnumerativeSynchronous, kCriticalPath,
                                               "enumerative", kDopplerSim};
constexpr const char* kUtilisationTitles[] = {kEnumerativeSynchronous, "critical path",
                                              "enumerative", "DOPPLER-SIM"};

constexpr const char* kMean = "mean_utilisation";
constexpr const char* kTimes = "seconds";
constexpr const char* kShares = "busy_share";
constexpr std::size_t kBins = 40;  // of a run

// Returns the utilisation of all devices together in equal parts of the run.
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

  Columns columns(const ReproductionContext&) const override {
    return {.keys = {"graph", "method"}, .numbers = {kMean}, .series = {kTimes, kShares}};
  }

  std::vector<Cell> cells(const ReproductionContext& context) const override {
    std::vector<Cell> cells;
    for (const std::string& graph : context.scale().graphs) {
      for (std::size_t i = 0; i < std::size(kUtilisationMethods); ++i) {
        add_seeds(cells, context, {graph, file_name(i)},
                  kUtilisationMethods[i] == kDopplerSim ? 3.0 : 0.1);
      }
    }
    return cells;
  }

  Outcome run(const ReproductionContext& context, const Cell& cell) const override {
    const auto& problem = context.problem(kFourDevices, cell.key[0]);
    const bool synchronous = cell.key[1] == file_name(0);
    const schedule::Placement placement =
        place_by(context, problem, synchronous ? "enumerative" : cell.key[1], cell.seed);
    const schedule::Timeline timeline = synchronous ? sim::run_synchronous(*problem, placement)
                                                    : sim::Simulator(*problem).timeline(placement);
    std::vector<double> shares = busy_shares(*problem, timeline), times;
    for (std::size_t b = 0; b < kBins; ++b) {
      times.push_back(timeline.makespan * (static_cast<double>(b) + 0.5) /
                      static_cast<double>(kBins));
    }
    return {.numbers = {mean_of(shares).value}, .series = {std::move(times), std::move(shares)}};
  }

  Section show(const ReproductionContext& context, const Results& results) const override {
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
    for (const std::string& graph : context.scale().graphs) {
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
  // Returns the method's name without a comma.
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
