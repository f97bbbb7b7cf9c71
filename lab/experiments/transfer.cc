// Two experiments: transfer of a policy to another graph, as it is and after few episodes there,
// and transfer to another machine.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doppler/render/charts/charts.h"
#include "doppler/train/placers/policy_placer.h"
#include "lab/context.h"
#include "lab/experiment.h"
#include "lab/published.h"
#include "lab/reproduce.h"

namespace doppler::lab {

namespace {

// Sources beside the graphs.
constexpr const char* kNothing = "nothing";  // a policy that has not learnt
constexpr const char* kShipped = "the shipped policy";
constexpr const char* kTrained = "full training";  // on the target itself: what there is to reach
constexpr const char* kBaseline = "best baseline";
constexpr const char* kBaselines[] = {kCriticalPath, "enumerative", "gdp"};

std::string zero_of(const std::string& graph) {
  return "zero_" + graph;
}
std::string few_of(const std::string& graph) {
  return "few_" + graph;
}

class GraphTransfer final : public Experiment {
 public:
  std::string_view name() const override { return "graph-transfer"; }
  std::string_view title() const override { return "Transfer between graphs"; }

  Columns columns(const ReproductionContext& context) const override {
    Columns columns{.keys = {"source"}, .numbers = {}};
    for (const std::string& graph : context.scale().graphs) {
      columns.numbers.push_back(zero_of(graph));
      columns.numbers.push_back(few_of(graph));
    }
    return columns;
  }

  std::vector<Cell> cells(const ReproductionContext& context) const override {
    std::vector<Cell> cells;
    for (const std::string& source : sources(context)) add_seeds(cells, context, {source}, 4.0);
    add_seeds(cells, context, {kTrained}, 10.0);
    add_seeds(cells, context, {kBaseline}, 25.0);
    return cells;
  }

  Outcome run(const ReproductionContext& context, const Cell& cell) const override {
    const std::string& source = cell.key.front();
    Outcome outcome;
    if (source == kTrained || source == kBaseline) {
      for (const std::string& graph : context.scale().graphs) {
        const auto& problem = context.problem(kFourDevices, graph);
        double time = cost::kInfinity;
        if (source == kTrained) {
          time = train_on(context, problem, plan_of(context.scale(), cell.seed)).makespan;
        } else {
          for (const char* method : kBaselines) {
            time =
                std::min(time, simulated(*problem, place_by(context, problem, method, cell.seed)));
          }
        }
        outcome.numbers.insert(outcome.numbers.end(), 2, time);
        if (context.stop().stop_requested()) return {};
      }
      return outcome;
    }
    const auto policy = policy_of(context, source, cell.seed);
    for (const std::string& graph : context.scale().graphs) {
      const auto& problem = context.problem(kFourDevices, graph);
      train::TrainingPlan plan = finetuning_of(context.scale(), cell.seed);
      plan.architecture = policy->architecture;
      plan.shape = policy->shape;
      plan.priorities = policy->priorities;
      outcome.numbers.push_back(
          simulated(*problem, place_with(context, *problem, policy, kBestOfSamples, cell.seed)));
      outcome.numbers.push_back(train_on(context, problem, plan, policy->parameters).makespan);
      if (context.stop().stop_requested()) return {};
    }
    return outcome;
  }

  Section show(const ReproductionContext& context, const Results& results) const override {
    Section section{
        .question =
            "The paper's claim: a policy trained on ChainMM or FFNN, with 2000 episodes more on a "
            "Llama graph, beats the baselines there.",
        .differs = fmt::format(
            "4xP100, simulated; {} episodes after the transfer; every pair of graphs, not four of "
            "them. A time is that of the best of {} samples, after few-shot training the best that "
            "was seen. Columns are relative to {} on the target. \"{}\" is the network as it "
            "begins, with random parameters and the preferences of a list scheduler. The best of "
            "{}, "
            "enumerative and GDP is the baseline.",
            context.scale().finetune_episodes, kBestOfSamples, kTrained, kNothing, kBaselines[0])};
    std::vector<std::string> rows = sources(context);
    rows.emplace_back(kBaseline);
    render::HeatMap zero{.title = "without further training",
                         .row_title = "trained on",
                         .column_title = "placed",
                         .rows = rows,
                         .columns = context.scale().graphs,
                         .values = {},
                         .middle = 1.0,
                         .least = 0.8,
                         .most = 1.5,
                         .digits = 3};
    render::HeatMap few = zero;
    few.title = fmt::format("after {} episodes there", context.scale().finetune_episodes);
    std::vector<std::string> titles{"trained on", ""};
    for (const std::string& graph : context.scale().graphs) titles.push_back("on " + graph);
    MarkdownTable table(titles);
    for (const std::string& source : rows) {
      std::vector<std::string> zero_row{source, "as it is"}, few_row{"", "few-shot"};
      std::vector<double>& zero_values = zero.values.emplace_back();
      std::vector<double>& few_values = few.values.emplace_back();
      for (const std::string& graph : context.scale().graphs) {
        const Estimate of_zero = results.ratio({source}, {kTrained}, zero_of(graph));
        const Estimate of_few = results.ratio({source}, {kTrained}, few_of(graph));
        zero_row.push_back(ratio_text(of_zero));
        few_row.push_back(ratio_text(of_few));
        zero_values.push_back(of_zero.value);
        few_values.push_back(of_few.value);
      }
      table.add(zero_row);
      if (source != kBaseline) table.add(few_row);
    }
    section.tables = fmt::format("Time relative to {}:\n\n", kTrained) + table.text();
    section.pictures.push_back(
        {"graph-transfer", "Transfer between graphs", render::heat_maps_svg({zero, few})});
    std::vector<GraphRatio> ratios;
    for (const char* source : {"chainmm", "ffnn"}) {
      for (const char* target : {"llama-block", "llama-layer"}) {
        if (!has(context, source) || !has(context, target)) continue;
        ratios.push_back({fmt::format("{} to {}", source, target),
                          results.ratio({source}, {kBaseline}, few_of(target))});
      }
    }
    section.findings.push_back(less_is_better(
        "Few episodes on a Llama graph after another graph beat the baselines (time / best "
        "baseline)",
        "yes, 2000 episodes", ratios));
    return section;
  }

 private:
  static bool has(const ReproductionContext& context, const std::string& graph) {
    const auto& graphs = context.scale().graphs;
    return std::find(graphs.begin(), graphs.end(), graph) != graphs.end();
  }

  static std::vector<std::string> sources(const ReproductionContext& context) {
    std::vector<std::string> names{kNothing};
    names.insert(names.end(), context.scale().graphs.begin(), context.scale().graphs.end());
    names.emplace_back(kShipped);
    return names;
  }

  static std::shared_ptr<const policy::Policy> policy_of(const ReproductionContext& context,
                                                         const std::string& source,
                                                         std::uint64_t seed) {
    if (source == kShipped) return train::shipped_policy();
    if (source == kNothing) {
      const auto& problem = context.problem(kFourDevices, context.scale().graphs.front());
      const train::Training training(plan_of(context.scale(), seed), {problem}, context.methods());
      return std::make_shared<const policy::Policy>(training.policy());
    }
    return std::make_shared<const policy::Policy>(
        train_on(context, context.problem(kFourDevices, source), plan_of(context.scale(), seed))
            .policy);
  }
};

}  // namespace

std::unique_ptr<Experiment> make_graph_transfer() {
  return std::make_unique<GraphTransfer>();
}

// --- transfer between machines: a policy trained on four P100 is used on eight V100 ---

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

  Columns columns(const ReproductionContext&) const override {
    return {.keys = {"graph"},
            .numbers = {kKeptZero, kKeptFew, kKeptEnumerative, kTimeZero, kTimeFew, kTimeTrained,
                        kTimeEnumerative}};
  }

  std::vector<Cell> cells(const ReproductionContext& context) const override {
    std::vector<Cell> cells;
    for (const std::string& graph : context.scale().graphs)
      add_seeds(cells, context, {graph}, 10.0);
    return cells;
  }

  Outcome run(const ReproductionContext& context, const Cell& cell) const override {
    const auto& from = context.problem(kFourDevices, cell.key.front());
    const auto& to = context.problem(kEightDevices, cell.key.front());
    const auto policy = std::make_shared<const policy::Policy>(
        train_on(context, from, plan_of(context.scale(), cell.seed)).policy);
    const schedule::Placement zero = place_with(context, *to, policy, kBestOfSamples, cell.seed);
    const Trained few =
        train_on(context, to, finetuning_of(context.scale(), cell.seed), policy->parameters);
    const Trained trained = train_on(context, to, plan_of(context.scale(), cell.seed));
    const schedule::Placement enumerative = place_by(context, to, "enumerative", cell.seed);
    const graph::Graph& graph = to->graph();
    return {.numbers = {kept_share(graph, zero), kept_share(graph, few.placement),
                        kept_share(graph, enumerative), simulated(*to, zero), few.makespan,
                        trained.makespan, simulated(*to, enumerative)}};
  }

  Section show(const ReproductionContext& context, const Results& results) const override {
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
            context.scale().finetune_episodes)};
    MarkdownTable shares({"graph", "kept, zero-shot", "kept, few-shot", "kept by enumerative"});
    MarkdownTable times({"graph", "zero-shot", "few-shot", "full training", "enumerative",
                         "few-shot / full training"});
    render::BarChart chart{.y_label = "share of the traffic kept, %",
                           .series = {"zero-shot", "few-shot", "enumerative"},
                           .reference = "published"};
    render::BarPanel panel{.title = "4xP100 to 8xV100"};
    std::vector<GraphRatio> kept;
    std::vector<double> zero_shares, few_shares;
    for (const std::string& graph : context.scale().graphs) {
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
