// The ablation of the two policies: each alone, both, and one joint policy.
#include <fmt/format.h>

#include "doppler/policy/architecture.h"
#include "doppler/render/charts/bar_chart.h"
#include "lab/experiments/experiments.h"
#include "lab/markdown.h"
#include "lab/published.h"
#include "lab/trial.h"
#include "lab/verdicts.h"

namespace doppler::lab {
namespace {

struct Variant {
  const char* model;
  const char* title;
  double PublishedTimes::*published;  // null: was not tried
  double weight;
};

constexpr Variant kPolicyVariants[] = {
    {"dual", "both", &PublishedTimes::doppler_sys, 3.0},
    {"sel-only", "SEL only", &PublishedTimes::sel_only, 2.0},
    {"plc-only", "PLC only", &PublishedTimes::plc_only, 3.0},
    {"joint", "one joint policy", nullptr, 15.0},
};

class PolicyExperiment final : public Experiment {
 public:
  std::string_view name() const override { return "policies"; }
  std::string_view title() const override { return "Two policies or one"; }

  Columns columns(const Lab&) const override {
    return {.keys = {"graph", "model"}, .numbers = {kSimulated}};
  }

  std::vector<Cell> cells(const Lab& lab) const override {
    std::vector<Cell> cells;
    for (const std::string& graph : lab.scale().graphs) {
      for (const Variant& variant : kPolicyVariants) {
        add_seeds(cells, lab, {graph, variant.model}, variant.weight);
      }
    }
    return cells;
  }

  Outcome run(const Lab& lab, const Cell& cell) const override {
    train::TrainingPlan plan = plan_of(lab.scale(), cell.seed);
    plan.architecture = policy::architecture_named(cell.key[1]);
    return {.numbers = {train_on(lab, lab.problem(kFourDevices, cell.key[0]), plan).makespan}};
  }

  Section show(const Lab& lab, const Results& results) const override {
    Section section{
        .question =
            "The paper's claim: choosing the next vertex (SEL) and its device (PLC) must both be "
            "learned; either alone, with the critical-path method in the other's place, is slower "
            "on three of four graphs. One joint policy over pairs was not tried.",
        .differs = fmt::format(
            "4xP100, simulated, where the paper timed an engine after stage III; equal episodes "
            "for all ({} of imitation, {} in the simulator). Our policies begin with a preference "
            "for what a list scheduler does and for keeping siblings together, which the paper's "
            "do not.",
            lab.scale().imitation_episodes, lab.scale().episodes)};
    std::vector<std::string> titles{"graph", ""};
    for (const Variant& variant : kPolicyVariants) titles.emplace_back(variant.title);
    MarkdownTable table(titles);
    render::BarChart chart{
        .y_label = "time / both policies", .reference = "published, after stage III", .line = 1.0};
    for (const Variant& variant : kPolicyVariants) chart.series.emplace_back(variant.title);
    render::BarPanel panel{.title = kFourDevices};
    std::vector<GraphRatio> ratios[4], published_ratios[4];
    for (const std::string& graph : lab.scale().graphs) {
      const PublishedTimes* times = published(graph);
      std::vector<std::string> ours{graph, "here"}, theirs{"", "published"};
      render::BarGroup group{.name = graph};
      for (std::size_t i = 0; i < std::size(kPolicyVariants); ++i) {
        const Variant& variant = kPolicyVariants[i];
        const Estimate ratio =
            results.ratio({graph, variant.model}, {graph, kPolicyVariants[0].model}, kSimulated);
        ours.push_back(text_of(results.mean({graph, variant.model}, kSimulated), 1e3));
        const bool known = times && variant.published;
        theirs.push_back(known ? fmt::format("{:.1f}", times->*variant.published) : "");
        const double reference = known ? times->*variant.published / times->doppler_sys : kAbsent;
        group.bars.push_back({ratio.value, ratio.low, ratio.high, reference});
        ratios[i].push_back({graph, ratio});
        if (known) published_ratios[i].push_back({graph, {.value = reference, .samples = 1}});
      }
      table.add(ours);
      table.add(theirs);
      panel.groups.push_back(std::move(group));
    }
    chart.panels.push_back(std::move(panel));
    section.tables = "Milliseconds on 4xP100:\n\n" + table.text();
    section.pictures.push_back({"policies", "Policies left out", render::bar_chart_svg(chart)});
    section.findings = {more_is_better("SEL alone is slower than both policies (time / both)",
                                       ratios_text(published_ratios[1]), ratios[1]),
                        more_is_better("PLC alone is slower than both policies (time / both)",
                                       ratios_text(published_ratios[2]), ratios[2])};
    Finding joint = more_is_better("Is one joint policy slower than two? (time / both)",
                                   "not tried", ratios[3]);
    joint.verdict = Verdict::kOpen;  // nobody claims it
    section.findings.push_back(std::move(joint));
    return section;
  }
};

}  // namespace

std::unique_ptr<Experiment> make_policies() {
  return std::make_unique<PolicyExperiment>();
}

}  // namespace doppler::lab
