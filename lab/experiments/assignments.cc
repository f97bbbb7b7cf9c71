// Pictures of assignments: the graph coloured by device, and who runs what when.
#include <fmt/format.h>

#include "doppler/render/charts/gantt.h"
#include "doppler/render/charts/graph_picture.h"
#include "doppler/sim/simulator.h"
#include "lab/experiments/experiments.h"
#include "lab/markdown.h"
#include "lab/trial.h"
#include "lab/verdicts.h"

namespace doppler::lab {
namespace {

constexpr const char* kAssignmentMethods[] = {"critical-path", "enumerative", kDopplerSim};
constexpr const char* kAssignmentTitles[] = {"critical path", "enumerative", "DOPPLER-SIM"};

constexpr const char* kKeptShare = "kept_share";
constexpr const char* kDevices = "devices";
constexpr const char* kPriorities = "priorities";

class Assignments final : public Experiment {
 public:
  std::string_view name() const override { return "assignments"; }
  std::string_view title() const override { return "Assignments"; }

  Columns columns(const Lab&) const override {
    return {.keys = {"graph", "method"},
            .numbers = {kSimulated, kKeptShare},
            .series = {kDevices, kPriorities}};
  }

  std::vector<Cell> cells(const Lab& lab) const override {
    std::vector<Cell> cells;
    for (const std::string& graph : lab.scale().pictured) {
      for (const char* method : kAssignmentMethods) {
        add_seeds(cells, lab, {graph, method}, method == kDopplerSim ? 3.0 : 0.1);
      }
    }
    return cells;
  }

  Outcome run(const Lab& lab, const Cell& cell) const override {
    const auto& problem = lab.problem(kFourDevices, cell.key[0]);
    const schedule::Placement placement = place_by(lab, problem, cell.key[1], cell.seed);
    std::vector<double> devices;
    for (const DeviceId device : placement.device) {
      devices.push_back(static_cast<double>(device.value()));
    }
    return {.numbers = {simulated(*problem, placement), kept_share(problem->graph(), placement)},
            .series = {std::move(devices), placement.priority}};
  }

  Section show(const Lab& lab, const Results& results) const override {
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
    for (const std::string& graph : lab.scale().pictured) {
      for (std::size_t i = 0; i < std::size(kAssignmentMethods); ++i) {
        const Key key{graph, kAssignmentMethods[i]};
        table.add({i == 0 ? graph : "", kAssignmentTitles[i],
                   text_of(results.mean(key, kSimulated), 1e3),
                   text_of(results.mean(key, kKeptShare), 100.0) + " %"});
      }
      kept.push_back(
          {graph, results.ratio({graph, kDopplerSim}, {graph, kAssignmentMethods[0]}, kKeptShare)});
      add_pictures(lab, results, graph, section);
    }
    section.tables = table.text();
    section.findings.push_back(more_is_better(
        "DOPPLER keeps more of the traffic on a device than critical path (share / share)",
        "pictures only", kept));
    return section;
  }

 private:
  static void add_pictures(const Lab& lab, const Results& results, const std::string& graph,
                           Section& section) {
    const cost::Problem& problem = *lab.problem(kFourDevices, graph);
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
