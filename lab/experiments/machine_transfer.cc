// Transfer between machines: a policy of four P100 on eight V100.
#include <fmt/format.h>

#include "doppler/render/charts/bar_chart.h"
#include "lab/experiments/experiments.h"
#include "lab/markdown.h"
#include "lab/published.h"
#include "lab/trial.h"
#include "lab/verdicts.h"

namespace doppler::lab {
namespace {

constexpr const char* kKeptZero = "kept_zero_shot";
constexpr const char* kKeptFew = "kept_few_shot";
constexpr const char* kKeptEnumerative = "kept_enumerative";
constexpr const char* kTimeZero = "time_zero_shot";
constexpr const char* kTimeFew = "time_few_shot";
constexpr const char* kTimeTrained = "time_full_training";
constexpr const char* kTimeEnumerative = "time_enumerative";

class MachineTransfer final : public Experiment {
 public:
  std::string_view name() const override { return "machine-transfer"; }
  std::string_view title() const override { return "Transfer between machines"; }

  Columns columns(const Lab&) const override {
    return {.keys = {"graph"},
            .numbers = {kKeptZero, kKeptFew, kKeptEnumerative, kTimeZero, kTimeFew, kTimeTrained,
                        kTimeEnumerative}};
  }

  std::vector<Cell> cells(const Lab& lab) const override {
    std::vector<Cell> cells;
    for (const std::string& graph : lab.scale().graphs) add_seeds(cells, lab, {graph}, 10.0);
    return cells;
  }

  Outcome run(const Lab& lab, const Cell& cell) const override {
    const auto& from = lab.problem(kFourDevices, cell.key.front());
    const auto& to = lab.problem(kEightDevices, cell.key.front());
    const auto policy = std::make_shared<const policy::Policy>(
        train_on(lab, from, plan_of(lab.scale(), cell.seed)).policy);
    const schedule::Placement zero = place_with(lab, *to, policy, kBestOfSamples, cell.seed);
    const Trained few =
        train_on(lab, to, finetuning_of(lab.scale(), cell.seed), policy->parameters);
    const Trained trained = train_on(lab, to, plan_of(lab.scale(), cell.seed));
    const schedule::Placement enumerative = place_by(lab, to, "enumerative", cell.seed);
    const graph::Graph& graph = to->graph();
    return {.numbers = {kept_share(graph, zero), kept_share(graph, few.placement),
                        kept_share(graph, enumerative), simulated(*to, zero), few.makespan,
                        trained.makespan, simulated(*to, enumerative)}};
  }

  Section show(const Lab& lab, const Results& results) const override {
    Section section{
        .question =
            "The paper's claim: a policy of 4 x P100 keeps most of the traffic on its device when "
            "it places for 8 x V100, and nearly all after 2000 episodes there.",
        .differs = fmt::format(
            "The graph for eight devices is split more finely than that for four. Of the bytes "
            "that kernels read from each other, the share that stays on a device; how much can "
            "stay depends on the graph and its split, so the enumerative assignment stands beside "
            "it. {} episodes after the transfer. The paper does not say of which graph its "
            "figures are.",
            lab.scale().finetune_episodes)};
    MarkdownTable shares({"graph", "kept, zero-shot", "kept, few-shot", "kept by enumerative"});
    MarkdownTable times({"graph", "zero-shot", "few-shot", "full training", "enumerative",
                         "few-shot / full training"});
    render::BarChart chart{.y_label = "share of the traffic kept, %",
                           .series = {"zero-shot", "few-shot", "enumerative"},
                           .reference = "published"};
    render::BarPanel panel{.title = "4xP100 to 8xV100"};
    std::vector<GraphRatio> kept;
    std::vector<double> zero_shares, few_shares;
    for (const std::string& graph : lab.scale().graphs) {
      const Key key{graph};
      const auto bar = [&](const char* number, double reference) {
        const Estimate share = results.mean(key, number);
        return render::Bar{100.0 * share.value, 100.0 * share.low, 100.0 * share.high,
                           100.0 * reference};
      };
      shares.add({graph, text_of(results.mean(key, kKeptZero), 100.0) + " %",
                  text_of(results.mean(key, kKeptFew), 100.0) + " %",
                  text_of(results.mean(key, kKeptEnumerative), 100.0) + " %"});
      times.add({graph, text_of(results.mean(key, kTimeZero), 1e3),
                 text_of(results.mean(key, kTimeFew), 1e3),
                 text_of(results.mean(key, kTimeTrained), 1e3),
                 text_of(results.mean(key, kTimeEnumerative), 1e3),
                 ratio_text(results.ratio_within(key, kTimeFew, kTimeTrained))});
      panel.groups.push_back(
          {graph,
           {bar(kKeptZero, kPublishedKeptZeroShot), bar(kKeptFew, kPublishedKeptFewShot),
            bar(kKeptEnumerative, kAbsent)}});
      kept.push_back({graph, results.ratio_within(key, kKeptFew, kKeptZero)});
      for (const auto& [seed, share] : results.by_seed(key, kKeptZero))
        zero_shares.push_back(share);
      for (const auto& [seed, share] : results.by_seed(key, kKeptFew)) few_shares.push_back(share);
    }
    chart.panels.push_back(std::move(panel));
    section.tables = shares.text() + "Milliseconds on 8xV100:\n\n" + times.text();
    section.pictures.push_back(
        {"machine-transfer", "Traffic kept on a device", render::bar_chart_svg(chart)});
    Finding finding = more_is_better(
        "Few-shot training on another machine keeps more of the traffic on a device (few-shot / "
        "zero-shot)",
        fmt::format("{:.1f} % to {:.1f} %", 100.0 * kPublishedKeptZeroShot,
                    100.0 * kPublishedKeptFewShot),
        kept);
    finding.ours += fmt::format("; over all graphs {} % to {} %",
                                number_text(100.0 * mean_of(zero_shares).value),
                                number_text(100.0 * mean_of(few_shares).value));
    section.findings.push_back(std::move(finding));
    return section;
  }
};

}  // namespace

std::unique_ptr<Experiment> make_machine_transfer() {
  return std::make_unique<MachineTransfer>();
}

}  // namespace doppler::lab
