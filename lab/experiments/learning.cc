// One experiment: DOPPLER as published beside DOPPLER as ours, the learned baselines, and the
// controls that show what is there before anything is learnt.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/exec/machine.h"
#include "doppler/render/charts/charts.h"
#include "lab/context.h"
#include "lab/experiment.h"
#include "lab/published.h"
#include "lab/reproduce.h"

namespace doppler::lab {
namespace {

constexpr const char* kPublishedName = "published";
constexpr const char* kPublishedShort = "published-short";
constexpr const char* kOurDoppler = "ours";
constexpr const char* kPriorAlone = "prior";
constexpr const char* kUntrained = "untrained";

struct Entrant {
  const char* name;
  const char* title;
  double weight;
  bool learns;     // has a curve
  bool serves;     // has a stage III
  bool classical;  // is a method of the registry that learns nothing
};

constexpr Entrant kEntrants[] = {
    {kPublishedName, "as published", 80.0, true, true, false},
    {kPublishedShort, "as published, short", 80.0, true, false, false},
    {kOurDoppler, "ours", 10.0, true, true, false},
    {"gdp", "GDP", 40.0, true, false, false},
    {"placeto", "Placeto", 100.0, true, false, false},
    {kCriticalPath, "critical path", 0.1, false, false, true},
    {"enumerative", "enumerative", 0.1, false, false, true},
    {kPriorAlone, "our network untrained", 0.1, false, false, false},
    {kUntrained, "the same without prior", 0.1, false, false, false},
};

const Entrant& entrant_named(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kEntrants), std::end(kEntrants),
                                         [&](const Entrant& e) { return name == e.name; });
  DOPPLER_CHECK(found != std::end(kEntrants));
  return *found;
}

constexpr const char* kServed = "engine_after_runs";
constexpr const char* kFirstTenth = "first_tenth";
constexpr const char* kLastTenth = "last_tenth";
constexpr const char* kEpisodesPlayed = "episodes";
constexpr const char* kMeanCurve = "curve";
constexpr std::size_t kMeanCurvePoints = 40;

bool is_llama(const std::string& graph) {
  return graph.starts_with("llama");
}

// The mean times of episodes that were played, in as many even pieces as a curve has points.
class CurveMeter {
 public:
  void add(std::uint64_t episodes, double mean) {
    if (std::isfinite(mean)) samples_.emplace_back(static_cast<double>(episodes), mean);
  }
  // Returns the mean over that part of the training or, where no update lies in it, the update that
  // comes next; absent without updates.
  double mean(double from, double to) const {
    if (samples_.empty()) return kAbsent;
    double sum = 0.0, count = 0.0;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(samples_.size());
      if (share < from || share >= to) continue;
      sum += samples_[i].second;
      ++count;
    }
    if (count > 0.0) return sum / count;
    const auto next = static_cast<std::size_t>(from * static_cast<double>(samples_.size()));
    return samples_[std::min(next, samples_.size() - 1)].second;
  }
  std::pair<std::vector<double>, std::vector<double>> curve() const {
    std::pair<std::vector<double>, std::vector<double>> points;
    const std::size_t pieces = std::min(kMeanCurvePoints, samples_.size());
    for (std::size_t p = 0; p < pieces; ++p) {
      const auto begin = static_cast<double>(p) / static_cast<double>(pieces);
      const auto end = static_cast<double>(p + 1) / static_cast<double>(pieces);
      points.first.push_back(
          samples_[static_cast<std::size_t>(end * static_cast<double>(samples_.size())) - 1].first);
      points.second.push_back(mean(begin, end));
    }
    return points;
  }

 private:
  std::vector<std::pair<double, double>> samples_;  // episodes so far, mean time
};

class LearningExperiment final : public Experiment {
 public:
  std::string_view name() const override { return "learning"; }
  std::string_view title() const override { return "As published and as ours"; }

  Columns columns(const ReproductionContext&) const override {
    return {.keys = {"graph", "learner"},
            .numbers = {kSimulated, kEngine, kServed, kFirstTenth, kLastTenth},
            .series = {kEpisodesPlayed, kMeanCurve}};
  }

  std::vector<Cell> cells(const ReproductionContext& context) const override {
    std::vector<Cell> cells;
    for (const std::string& graph : context.scale().graphs) {
      for (const Entrant& entrant : kEntrants) {
        // Of ChainMM and FFNN both published budgets are the same.
        if (entrant.name == std::string_view(kPublishedShort) && !is_llama(graph)) continue;
        add_seeds(cells, context, {graph, entrant.name}, entrant.weight);
      }
    }
    return cells;
  }

  Outcome run(const ReproductionContext& context, const Cell& cell) const override {
    const auto& problem = context.problem(kFourDevices, cell.key[0]);
    const exec::MachineSkew truth = hidden_truth(*problem, cell.seed);
    const auto time = [&](const schedule::Placement& at) {
      return engine_time(context, problem, at, truth, cell.seed);
    };
    const Entrant& entrant = entrant_named(cell.key[1]);
    if (entrant.classical) {
      const schedule::Placement placement = place_by(context, problem, entrant.name, cell.seed);
      return {
          .numbers = {simulated(*problem, placement), time(placement), kAbsent, kAbsent, kAbsent},
          .series = {{}, {}}};
    }
    const train::TrainingPlan plan = plan_for(context, cell);
    train::Training training(plan, {problem}, context.methods());
    CurveMeter meter;
    while (!training.done() && !context.stop().stop_requested()) {
      const train::UpdateReport report = training.update();
      if (report.stage == train::Stage::kSimulation) meter.add(report.episodes, report.batch.mean);
    }
    if (context.stop().stop_requested()) return {};
    auto policy = std::make_shared<const policy::Policy>(training.policy());
    schedule::Placement placement =
        place_with(context, *problem, policy, kBestOfSamples, cell.seed);
    if (training.task(0).best_time() < simulated(*problem, placement)) {
      placement = training.task(0).placement();
    }
    const bool runs = entrant.serves && (cell.key[1] != kOurDoppler || context.online());
    const double served =
        runs ? time(after_runs(context, problem, cell, *policy, placement, truth)) : kAbsent;
    auto [episodes, curve] = meter.curve();
    return {.numbers = {simulated(*problem, placement), time(placement), served,
                        meter.mean(0.0, 0.1), meter.mean(0.9, 1.0)},
            .series = {std::move(episodes), std::move(curve)}};
  }

  Section show(const ReproductionContext& context, const Results& results) const override {
    const Scale& scale = context.scale();
    Section section{
        .question =
            "What does DOPPLER give exactly as published (network, features, training, stage III), "
            "and what does ours give beside it? Do the learned baselines learn? And how much of "
            "each result was there before any training?",
        .differs = fmt::format(
            "4xP100, simulated; engine times are those of an emulated machine that is not as the "
            "placer believes, relative to ours. As published and as ours: {} episodes of "
            "imitation, {} in all on ChainMM and FFNN, {} on the Llama graphs; short: {} on these, "
            "too. Stage III: {} runs. GDP {} episodes, Placeto as many as take the time of {} on "
            "100 nodes. Curves are means over the episodes that were played, and over seeds. The "
            "untrained network is ours with its prior alone, and without.",
            scale.published_imitation, scale.published_short, scale.published_long,
            scale.published_short, scale.online_runs, scale.gdp_episodes, scale.placeto_episodes)};
    std::vector<std::string> titles{"graph"};
    for (const Entrant& entrant : kEntrants) titles.emplace_back(entrant.title);
    MarkdownTable simulated_table(titles);
    MarkdownTable engine_table(titles);
    MarkdownTable served_table({"graph", "as published", "ours"});
    MarkdownTable learning_table({"graph", "as published", "ours", "GDP", "Placeto"});
    render::LineChart chart{.x_label = "episodes", .y_label = "mean of episodes, ms", .columns = 2};
    for (const Entrant& entrant : kEntrants) {
      if (entrant.learns) chart.series.emplace_back(entrant.title);
    }
    std::vector<GraphRatio> gdp, placeto, against_ours;
    for (const std::string& graph : scale.graphs) {
      const Key ours{graph, kOurDoppler}, published_key{graph, kPublishedName};
      std::vector<std::string> row{graph}, engine_row{graph};
      render::LinePanel panel{.title = graph};
      for (std::size_t i = 0; i < std::size(kEntrants); ++i) {
        const Key key{graph, kEntrants[i].name};
        row.push_back(text_of(results.mean(key, kSimulated), 1e3));
        engine_row.push_back(key == ours ? "1" : ratio_text(results.ratio(key, ours, kEngine)));
        if (!kEntrants[i].learns) continue;
        render::Line line = mean_curve(results, key);
        line.series = i;
        panel.lines.push_back(std::move(line));
      }
      simulated_table.add(row);
      engine_table.add(engine_row);
      chart.panels.push_back(std::move(panel));
      served_table.add({graph, ratio_text(served_ratio(results, published_key, ours)),
                        ratio_text(served_ratio(results, ours, ours))});
      const auto learnt = [&](const char* name) {
        return results.ratio_within({graph, name}, kLastTenth, kFirstTenth);
      };
      learning_table.add({graph, ratio_text(learnt(kPublishedName)),
                          ratio_text(learnt(kOurDoppler)), ratio_text(learnt("gdp")),
                          ratio_text(learnt("placeto"))});
      gdp.push_back({graph, learnt("gdp")});
      placeto.push_back({graph, learnt("placeto")});
      against_ours.push_back({graph, results.ratio(ours, published_key, kSimulated)});
    }
    section.tables =
        "Milliseconds, simulated, of the best placement seen:\n\n" + simulated_table.text() +
        "\nOn the engine before any run was learnt from, time / ours:\n\n" + engine_table.text() +
        "\nOn the engine after stage III, time / ours before it:\n\n" + served_table.text() +
        "\nMean time of the last tenth of the episodes in the simulator / of the first "
        "tenth:\n\n" +
        learning_table.text();
    section.pictures.push_back({"learning", "Learning curves", render::line_chart_svg(chart)});
    section.findings = {
        less_is_better("GDP learns (last tenth of episodes / first)", "curves only", gdp),
        less_is_better("Placeto learns (last tenth of episodes / first)", "curves only", placeto),
        less_is_better("Our DOPPLER is faster than DOPPLER as published (time / time)",
                       "nobody claims it", against_ours)};
    return section;
  }

 private:
  static train::TrainingPlan plan_for(const ReproductionContext& context, const Cell& cell) {
    const Scale& scale = context.scale();
    const std::string& graph = cell.key[0];
    const std::string& learner = cell.key[1];
    const std::uint64_t all = is_llama(graph) ? scale.published_long : scale.published_short;
    if (learner == kPublishedName) return published_plan_of(scale, all, cell.seed);
    if (learner == kPublishedShort) {
      return published_plan_of(scale, scale.published_short, cell.seed);
    }
    train::TrainingPlan plan = plan_of(scale, cell.seed);
    plan.imitation_episodes = scale.published_imitation;
    plan.episodes = all - scale.published_imitation;
    if (learner == kOurDoppler) return plan;
    plan.imitation_episodes = 0;
    if (learner == kPriorAlone || learner == kUntrained) {
      plan.episodes = 0;
      if (learner == kUntrained) plan.shape.prior = policy::Prior::kNone;
      return plan;
    }
    plan.architecture = policy::architecture_named(learner);
    plan.episodes = learner == "gdp"
                        ? scale.gdp_episodes
                        : placeto_episodes_for(context.problem(kFourDevices, graph)->node_count(),
                                               scale.placeto_episodes);
    return plan;
  }

  // Returns the placement after stage III on the machine that is not as the placer believes.
  static schedule::Placement after_runs(const ReproductionContext& context,
                                        const std::shared_ptr<const cost::Problem>& problem,
                                        const Cell& cell, const policy::Policy& policy,
                                        const schedule::Placement& first,
                                        const exec::MachineSkew& truth) {
    if (cell.key[1] == kOurDoppler) {
      const auto points = context.online()({.problem = problem,
                                            .truth = truth,
                                            .policy = policy,
                                            .first = first,
                                            .runs = context.scale().online_runs,
                                            .seed = cell.seed,
                                            .stop = context.stop()});
      return points.empty() ? first : points.back().placement;
    }
    train::TrainingPlan plan = train::TrainingPlan::of_paper().on_runs(context.scale().online_runs);
    plan.seed = cell.seed;
    train::Training training(plan, {problem}, context.methods(), policy.parameters);
    exec::VirtualMachine machine(problem, truth, cell.seed);
    std::uint64_t run = 0;
    training.measure_with(0, [&](const schedule::Placement& placement) {
      return train::makespan_or_infinity(machine, placement, run++);
    });
    while (!training.done() && !context.stop().stop_requested()) training.update();
    return std::isfinite(training.task(0).best_time()) ? training.task(0).placement() : first;
  }

  // Returns the geometric mean over the seeds of the time after stage III over that of `below`
  // without.
  static Estimate served_ratio(const Results& results, const Key& above, const Key& below) {
    const auto times = results.by_seed(above, kServed), others = results.by_seed(below, kEngine);
    std::vector<double> ratios;
    for (const auto& [seed, time] : times) {
      const auto other = others.find(seed);
      if (other != others.end()) ratios.push_back(time / other->second);
    }
    return geometric_mean_of(ratios);
  }

  // Curves of all seeds have points at the same episodes.
  static render::Line mean_curve(const Results& results, const Key& key) {
    render::Line line{.x = results.first_series(key, kEpisodesPlayed)};
    for (const double time : results.mean_series(key, kMeanCurve)) line.y.push_back(1e3 * time);
    return line;
  }
};

}  // namespace

std::unique_ptr<Experiment> make_learning() {
  return std::make_unique<LearningExperiment>();
}

}  // namespace doppler::lab
