// Work-conserving against bulk-synchronous execution.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doppler/render/charts/bar_chart.h"
#include "doppler/sim/synchronous.h"
#include "lab/experiments/experiments.h"
#include "lab/markdown.h"
#include "lab/published.h"
#include "lab/trial.h"
#include "lab/verdicts.h"

namespace doppler::lab {
namespace {

constexpr const char* kWorkConserving = "work_conserving";
constexpr const char* kSynchronous = "synchronous";
constexpr const char* kEnumerative = "enumerative";
constexpr const char* kModeMethods[] = {kEnumerative, "critical-path", "heft",
                                        "peft",       "round-robin",   "lns"};

class Modes final : public Experiment {
 public:
  std::string_view name() const override { return "modes"; }
  std::string_view title() const override { return "Work-conserving against synchronous"; }

  Columns columns(const Lab&) const override {
    return {.keys = {"machine", "graph", "method"}, .numbers = {kWorkConserving, kSynchronous}};
  }

  std::vector<Cell> cells(const Lab& lab) const override {
    std::vector<Cell> cells;
    for (const char* machine : {kFourDevices, kEightDevices}) {
      for (const std::string& graph : lab.scale().graphs) {
        for (const char* method : kModeMethods) {
          add_seeds(cells, lab, {machine, graph, method}, method == std::string("lns") ? 2.0 : 0.1);
        }
      }
    }
    return cells;
  }

  Outcome run(const Lab& lab, const Cell& cell) const override {
    const auto& problem = lab.problem(cell.key[0], cell.key[1]);
    const schedule::Placement placement = place_by(lab, problem, cell.key[2], cell.seed);
    return {.numbers = {simulated(*problem, placement),
                        sim::run_synchronous(*problem, placement).makespan}};
  }

  Section show(const Lab& lab, const Results& results) const override {
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
      for (const std::string& graph : lab.scale().graphs) {
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
  // The least mean over the methods.
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

}  // namespace doppler::lab
