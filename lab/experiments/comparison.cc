// Two experiments: the comparison (the paper's main table: execution times of all methods on all
// graphs and machines), and pictures of assignments.
#include <fmt/format.h>

#include <cmath>

#include "doppler/render/charts/charts.h"
#include "doppler/sim/simulator.h"
#include "lab/context.h"
#include "lab/experiment.h"
#include "lab/published.h"
#include "lab/reproduce.h"

namespace doppler::lab {

namespace {

struct Contestant {
  const char* method;
  const char* title;
  double PublishedTimes::*published;
  double weight;
};

constexpr Contestant kContestants[] = {
    {kCriticalPath, "critical path", &PublishedTimes::critical_path, 0.1},
    {"placeto", "Placeto", &PublishedTimes::placeto, 30.0},
    {"gdp", "GDP", &PublishedTimes::gdp, 8.0},
    {"enumerative", "enumerative", &PublishedTimes::enumerative, 0.1},
    {kDopplerSim, "DOPPLER-SIM", &PublishedTimes::doppler_sim, 5.0},
    {kDopplerSys, "DOPPLER-SYS", &PublishedTimes::doppler_sys, 10.0},
};
constexpr int kBaselineCount = 4;  // the first of them

class ComparisonExperiment final : public Experiment {
 public:
  std::string_view name() const override { return "comparison"; }
  std::string_view title() const override { return "Comparison of methods"; }

  Columns columns(const ReproductionContext&) const override {
    return {.keys = {"machine", "graph", "method"}, .numbers = {kSimulated, kEngine}};
  }

  std::vector<Cell> cells(const ReproductionContext& context) const override {
    std::vector<Cell> cells;
    for (const std::string& machine : context.machines()) {
      for (const std::string& graph : context.scale().graphs) {
        const auto nodes = static_cast<double>(context.problem(machine, graph)->node_count());
        for (const Contestant& contestant : kContestants) {
          if (contestant.method == std::string(kDopplerSys) && !context.online()) continue;
          add_seeds(cells, context, {machine, graph, contestant.method},
                    contestant.weight * nodes / 100.0);
        }
      }
    }
    return cells;
  }

  Outcome run(const ReproductionContext& context, const Cell& cell) const override {
    const auto& problem = context.problem(cell.key[0], cell.key[1]);
    const schedule::Placement placement = place_by(context, problem, cell.key[2], cell.seed);
    if (context.stop().stop_requested()) return {};
    return {.numbers = {simulated(*problem, placement),
                        engine_time(context, problem, placement, hidden_truth(*problem, cell.seed),
                                    cell.seed)}};
  }

  Section show(const ReproductionContext& context, const Results& results) const override {
    Section section{
        .question =
            "The paper's claim: trained on the real system (DOPPLER-SYS), the two policies find "
            "the fastest assignment of every graph, and mostly do so trained in the simulator "
            "alone (DOPPLER-SIM).",
        .differs = fmt::format(
            "Cost models instead of GPUs; graphs by our own compiler in the paper's sizes and "
            "about its splits (docs/paper.md), so that absolute times are not comparable, ratios "
            "are. The published critical-path baseline picks an index from one list and uses it "
            "in another; ours does not, and is far better for it. Placeto and GDP are "
            "reimplemented and trained with our trainer, from nothing on each graph: GDP with {} "
            "episodes, Placeto, which passes messages anew at every step, with as many as take the "
            "time of {} on 100 nodes.",
            context.scale().gdp_episodes, context.scale().placeto_compared_episodes)};
    for (const std::string& machine : context.machines())
      section.tables += table(context, results, machine);
    section.tables += engine_table(context, results);
    section.pictures.push_back({"comparison", "Times of all methods", picture(context, results)});
    add_findings(context, results, section);
    return section;
  }

 private:
  static std::vector<std::string> titles(std::string first) {
    std::vector<std::string> names{std::move(first), ""};
    for (const Contestant& contestant : kContestants) names.emplace_back(contestant.title);
    return names;
  }

  std::string table(const ReproductionContext& context, const Results& results,
                    const std::string& machine) const {
    const bool seconds = machine != kGivenTimes;
    MarkdownTable table(titles("graph"));
    for (const std::string& graph : context.scale().graphs) {
      const PublishedTimes* times = published(graph);
      std::vector<std::string> row{graph, "here"};
      for (const Contestant& contestant : kContestants) {
        row.push_back(text_of(results.mean({machine, graph, contestant.method}, kSimulated),
                              seconds ? 1e3 : 1.0));
      }
      if (!context.online()) row.back() = "absent";
      table.add(row);
      if (machine != kFourDevices || !times) continue;
      row = {"", "published"};
      for (const Contestant& contestant : kContestants) {
        row.push_back(fmt::format("{:.1f}", times->*contestant.published));
      }
      table.add(row);
    }
    return fmt::format("**{}**, simulated with the costs that the placer believes in, {}:\n\n",
                       machine, seconds ? "milliseconds" : "in the unit of the files") +
           table.text();
  }

  std::string engine_table(const ReproductionContext& context, const Results& results) const {
    MarkdownTable table(titles("machine"));
    for (const std::string& machine : context.machines()) {
      for (const std::string& graph : context.scale().graphs) {
        std::vector<std::string> row{machine, graph};
        for (const Contestant& contestant : kContestants) {
          row.push_back(ratio_text(results.ratio({machine, graph, contestant.method},
                                                 {machine, graph, "enumerative"}, kEngine)));
        }
        if (!context.online()) row.back() = "absent";
        table.add(row);
      }
    }
    return "**On the engine**, the same placements, each seed on a machine of its own, so relative "
           "to the enumerative assignment there:\n\n" +
           table.text();
  }

  std::string picture(const ReproductionContext& context, const Results& results) const {
    render::BarChart chart{.y_label = "time / enumerative",
                           .reference = "published, 4 x P100",
                           .line = 1.0,
                           .most = 2.6,
                           .columns = 1};
    for (const Contestant& contestant : kContestants) {
      if (contestant.method != std::string(kDopplerSys) || context.online()) {
        chart.series.emplace_back(contestant.title);
      }
    }
    for (const std::string& machine : context.machines()) {
      render::BarPanel panel{.title = machine};
      for (const std::string& graph : context.scale().graphs) {
        render::BarGroup group{.name = graph};
        const PublishedTimes* times = machine == kFourDevices ? published(graph) : nullptr;
        for (std::size_t i = 0; i < chart.series.size(); ++i) {
          const Contestant& contestant = kContestants[i];
          const Estimate ratio = results.ratio({machine, graph, contestant.method},
                                               {machine, graph, "enumerative"}, kSimulated);
          render::Bar bar{.value = ratio.value, .low = ratio.low, .high = ratio.high};
          if (times) bar.reference = times->*contestant.published / times->enumerative;
          group.bars.push_back(bar);
        }
        panel.groups.push_back(std::move(group));
      }
      chart.panels.push_back(std::move(panel));
    }
    return render::bar_chart_svg(chart);
  }

  // Returns the baseline with the least mean time, or null if there is none yet.
  static const Contestant* best_baseline(const Results& results, const std::string& machine,
                                         const std::string& graph, const char* number) {
    const Contestant* best = nullptr;
    double least = 0.0;
    for (int i = 0; i < kBaselineCount; ++i) {
      const Estimate mean = results.mean({machine, graph, kContestants[i].method}, number);
      if (!mean.present() || (best && mean.value >= least)) continue;
      best = &kContestants[i];
      least = mean.value;
    }
    return best;
  }

  static void add_findings(const ReproductionContext& context, const Results& results,
                           Section& section) {
    const auto against_best = [&](const char* method, const std::string& machine,
                                  const char* number) {
      std::vector<GraphRatio> ratios;
      for (const std::string& graph : context.scale().graphs) {
        const Contestant* best = best_baseline(results, machine, graph, number);
        if (!best) continue;
        ratios.push_back({graph, results.ratio({machine, graph, method},
                                               {machine, graph, best->method}, number)});
      }
      return ratios;
    };
    const auto published_ratios = [](double PublishedTimes::*time) {
      std::vector<GraphRatio> ratios;
      for (const PublishedTimes& times : kPublished) {
        double best = times.critical_path;
        for (const double other : {times.placeto, times.gdp, times.enumerative}) {
          best = std::min(best, other);
        }
        ratios.push_back(
            {std::string(times.graph), Estimate{.value = times.*time / best, .samples = 1}});
      }
      return ratios_text(ratios);
    };
    section.findings.push_back(less_is_better(
        "DOPPLER-SIM is faster than the best baseline, four devices (time / best baseline)",
        published_ratios(&PublishedTimes::doppler_sim),
        against_best(kDopplerSim, kFourDevices, kSimulated)));
    section.findings.push_back(
        less_is_better("The same, eight devices", "text only",
                       against_best(kDopplerSim, kEightDevices, kSimulated)));
    section.findings.push_back(
        less_is_better("DOPPLER-SYS is faster than the best baseline, on the engine, four devices",
                       published_ratios(&PublishedTimes::doppler_sys),
                       context.online() ? against_best(kDopplerSys, kFourDevices, kEngine)
                                        : std::vector<GraphRatio>{}));
    std::vector<GraphRatio> learned;
    for (const std::string& graph : context.scale().graphs) {
      const Estimate placeto = results.ratio({kFourDevices, graph, "enumerative"},
                                             {kFourDevices, graph, "placeto"}, kSimulated);
      const Estimate gdp = results.ratio({kFourDevices, graph, "enumerative"},
                                         {kFourDevices, graph, "gdp"}, kSimulated);
      if (placeto.present() && gdp.present()) {
        learned.push_back({graph, placeto.value > gdp.value ? placeto : gdp});
      }
    }
    std::vector<GraphRatio> learned_published;
    for (const PublishedTimes& times : kPublished) {
      learned_published.push_back(
          {std::string(times.graph),
           Estimate{.value = times.enumerative / std::min(times.placeto, times.gdp),
                    .samples = 1}});
    }
    section.findings.push_back(less_is_better(
        "The enumerative assignment is faster than the learned baselines (time / better of the "
        "two)",
        ratios_text(learned_published), learned));
  }
};

}  // namespace

std::unique_ptr<Experiment> make_comparison() {
  return std::make_unique<ComparisonExperiment>();
}

// --- pictures of assignments: the graph coloured by device, and what runs where and when ---

namespace {

constexpr const char* kAssignmentMethods[] = {kCriticalPath, "enumerative", kDopplerSim};
constexpr const char* kAssignmentTitles[] = {"critical path", "enumerative", "DOPPLER-SIM"};

constexpr const char* kKeptShare = "kept_share";
constexpr const char* kDevices = "devices";
constexpr const char* kPriorities = "priorities";

class Assignments final : public Experiment {
 public:
  std::string_view name() const override { return "assignments"; }
  std::string_view title() const override { return "Assignments"; }

  Columns columns(const ReproductionContext&) const override {
    return {.keys = {"graph", "method"},
            .numbers = {kSimulated, kKeptShare},
            .series = {kDevices, kPriorities}};
  }

  std::vector<Cell> cells(const ReproductionContext& context) const override {
    std::vector<Cell> cells;
    for (const std::string& graph : context.scale().pictured) {
      for (const char* method : kAssignmentMethods) {
        add_seeds(cells, context, {graph, method}, method == kDopplerSim ? 3.0 : 0.1);
      }
    }
    return cells;
  }

  Outcome run(const ReproductionContext& context, const Cell& cell) const override {
    const auto& problem = context.problem(kFourDevices, cell.key[0]);
    const schedule::Placement placement = place_by(context, problem, cell.key[1], cell.seed);
    std::vector<double> devices;
    for (const DeviceId device : placement.device) {
      devices.push_back(static_cast<double>(device.value()));
    }
    return {.numbers = {simulated(*problem, placement), kept_share(problem->graph(), placement)},
            .series = {std::move(devices), placement.priority}};
  }

  Section show(const ReproductionContext& context, const Results& results) const override {
    Section section{
        .question =
            "The paper shows assignments of its methods side by side: DOPPLER keeps what belongs "
            "together on a device and all devices busy.",
        .differs =
            "4xP100, simulated; the pictures are of the first seed. In the graphs time runs from "
            "left to right by levels, larger vertices take longer, and dark edges are transfers. "
            "In the bars a device's kernels alternate between two shades, and the thin line below "
            "is what it receives, in the colour of the sender."};
    MarkdownTable table({"graph", "method", "ms", "traffic kept on a device"});
    std::vector<GraphRatio> kept;
    for (const std::string& graph : context.scale().pictured) {
      for (std::size_t i = 0; i < std::size(kAssignmentMethods); ++i) {
        const Key key{graph, kAssignmentMethods[i]};
        table.add({i == 0 ? graph : "", kAssignmentTitles[i],
                   text_of(results.mean(key, kSimulated), 1e3),
                   text_of(results.mean(key, kKeptShare), 100.0) + " %"});
      }
      kept.push_back(
          {graph, results.ratio({graph, kDopplerSim}, {graph, kAssignmentMethods[0]}, kKeptShare)});
      add_pictures(context, results, graph, section);
    }
    section.tables = table.text();
    section.findings.push_back(more_is_better(
        "DOPPLER keeps more of the traffic on a device than critical path (share / share)",
        "pictures only", kept));
    return section;
  }

 private:
  static void add_pictures(const ReproductionContext& context, const Results& results,
                           const std::string& graph, Section& section) {
    const cost::Problem& problem = *context.problem(kFourDevices, graph);
    // Panels point into these.
    std::vector<schedule::Placement> placements;
    std::vector<schedule::Timeline> timelines;
    std::vector<std::string> titles;
    for (std::size_t i = 0; i < std::size(kAssignmentMethods); ++i) {
      const Key key{graph, kAssignmentMethods[i]};
      const std::vector<double>& devices = results.first_series(key, kDevices);
      if (devices.size() != problem.node_count()) continue;
      schedule::Placement placement;
      for (const double device : devices) placement.device.push_back(DeviceId::of(device));
      placement.priority = results.first_series(key, kPriorities);
      schedule::check_placement(problem, placement);
      timelines.push_back(sim::Simulator(problem).timeline(placement));
      titles.push_back(fmt::format("{}, {}: {:.1f} ms", graph, kAssignmentTitles[i],
                                   1e3 * timelines.back().makespan));
      placements.push_back(std::move(placement));
    }
    if (placements.empty()) return;
    std::vector<render::GraphPanel> graphs;
    std::vector<render::GanttPanel> bars;
    for (std::size_t i = 0; i < placements.size(); ++i) {
      graphs.push_back({titles[i], &problem, &placements[i]});
      bars.push_back({titles[i], &problem, &timelines[i]});
    }
    section.pictures.push_back(
        {"assignments-" + graph, "Assignments of " + graph, render::graph_picture_svg(graphs)});
    section.pictures.push_back(
        {"timelines-" + graph, "Timelines of " + graph, render::gantt_svg(bars)});
  }
};

}  // namespace

std::unique_ptr<Experiment> make_assignments() {
  return std::make_unique<Assignments>();
}

}  // namespace doppler::lab
