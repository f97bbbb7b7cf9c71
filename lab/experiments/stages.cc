// The ablation of the stages: learning curves of imitation, simulation and the engine, and of their
// combinations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doppler/render/charts/charts.h"
#include "lab/context.h"
#include "lab/experiment.h"
#include "lab/published.h"
#include "lab/reproduce.h"

namespace doppler::lab {
namespace {

struct Stages {
  const char* name;
  bool imitation, simulation, engine;
};

constexpr Stages kStages[] = {{"I", true, false, false},     {"II", false, true, false},
                              {"I+II", true, true, false},   {"III", false, false, true},
                              {"I+III", true, false, true},  {"II+III", false, true, true},
                              {"I+II+III", true, true, true}};

constexpr const char* kEpisodesSeen = "episodes";
constexpr const char* kCurve = "engine_curve";
constexpr std::uint64_t kCurvePoints = 25;  // of a curve, over both of the first stages
constexpr std::size_t kCurveSamples =
    16;  // of the policy at each of them, the best by the simulator

const Stages& stages_named(const std::string& name) {
  return *std::find_if(std::begin(kStages), std::end(kStages),
                       [&](const Stages& stages) { return stages.name == name; });
}

class StageAblation final : public Experiment {
 public:
  std::string_view name() const override { return "stages"; }
  std::string_view title() const override { return "Stages of training"; }

  Columns columns(const ReproductionContext&) const override {
    return {.keys = {"graph", "stages"},
            .numbers = {kSimulated, kEngine},
            .series = {kEpisodesSeen, kCurve}};
  }

  std::vector<Cell> cells(const ReproductionContext& context) const override {
    std::vector<Cell> cells;
    for (const std::string& graph : context.scale().graphs) {
      for (const Stages& stages : kStages) {
        if (stages.engine && !context.online()) continue;
        add_seeds(cells, context, {graph, stages.name},
                  0.5 + stages.imitation + 2.0 * stages.simulation + 5.0 * stages.engine);
      }
    }
    return cells;
  }

  Outcome run(const ReproductionContext& context, const Cell& cell) const override {
    const auto& problem = context.problem(kFourDevices, cell.key[0]);
    const Stages& stages = stages_named(cell.key[1]);
    const exec::MachineSkew truth = hidden_truth(*problem, cell.seed);
    train::TrainingPlan plan = plan_of(context.scale(), cell.seed);
    if (!stages.imitation) plan.imitation_episodes = 0;
    if (!stages.simulation) plan.episodes = 0;

    std::vector<double> episodes, curve;
    const auto watch = [&](const train::Training& training) {
      const std::uint64_t step = std::max<std::uint64_t>(
          1, (context.scale().imitation_episodes + context.scale().episodes) / plan.learner.batch /
                 kCurvePoints);
      if (training.updates() % step != 0 && !training.done()) return;
      episodes.push_back(static_cast<double>(training.episodes()));
      const schedule::Placement placement =
          place_with(context, *problem, std::make_shared<const policy::Policy>(training.policy()),
                     kCurveSamples, cell.seed);
      curve.push_back(engine_time(context, problem, placement, truth, cell.seed));
    };
    Trained trained = train_on(context, problem, plan, {}, watch);
    if (context.stop().stop_requested()) return {};
    schedule::Placement last = trained.placement;
    if (stages.engine) {
      const double before = episodes.back();
      for (const OnlinePoint& point : context.online()({.problem = problem,
                                      .truth = truth,
                                      .policy = std::move(trained.policy),
                                      .first = trained.placement,
                                      .runs = context.scale().online_runs,
                                      .seed = cell.seed,
                                      .stop = context.stop()})) {
        episodes.push_back(before + static_cast<double>(point.runs));
        curve.push_back(engine_time(context, problem, point.placement, truth, cell.seed));
        last = point.placement;
      }
    }
    return {.numbers = {simulated(*problem, last),
                        engine_time(context, problem, last, truth, cell.seed)},
            .series = {std::move(episodes), std::move(curve)}};
  }

  Section show(const ReproductionContext& context, const Results& results) const override {
    Section section{
        .question =
            "The paper's claim: imitation of the critical-path method (I) makes training in the "
            "simulator (II) start well and end better, and training on the engine (III) improves "
            "on both.",
        .differs = fmt::format(
            "4xP100; imitation {} episodes, simulator {}. Curves show the time on the emulated "
            "engine of the best of {} samples of the policy, chosen by the simulator, mean over "
            "seeds (each with a machine of its own). Stage I begins here with policies that "
            "already "
            "prefer what a list scheduler does, so that there is less to imitate.{}",
            context.scale().imitation_episodes, context.scale().episodes, kCurveSamples,
            context.online() ? "" : " Stage III is absent from this build, and so are its rows.")};
    MarkdownTable table({"graph", "stages", "simulated, ms", "on the engine / I+II"});
    render::LineChart chart{.x_label = "episodes", .y_label = "on the engine, ms", .columns = 2};
    for (const Stages& stages : kStages) {
      if (!stages.engine || context.online()) chart.series.emplace_back(stages.name);
    }
    for (const std::string& graph : context.scale().graphs) {
      render::LinePanel panel{.title = graph};
      for (std::size_t i = 0; i < std::size(kStages); ++i) {
        const Key key{graph, kStages[i].name};
        if (kStages[i].engine && !context.online()) {
          if (kStages[i].imitation && kStages[i].simulation) {
            table.add({"", "all with III", "absent", "absent"});
          }
          continue;
        }
        table.add({i == 0 ? graph : "", kStages[i].name,
                   text_of(results.mean(key, kSimulated), 1e3),
                   ratio_text(results.ratio(key, {graph, "I+II"}, kEngine))});
        render::Line line = mean_curve(results, key);
        line.series = i;
        panel.lines.push_back(std::move(line));
      }
      chart.panels.push_back(std::move(panel));
    }
    section.tables = "In the end:\n\n" + table.text();
    section.pictures.push_back({"stages", "Learning curves", render::line_chart_svg(chart)});
    add_findings(context, results, section);
    return section;
  }

 private:
  // Curves of all seeds have points at the same episodes.
  static render::Line mean_curve(const Results& results, const Key& key) {
    render::Line line{.x = results.first_series(key, kEpisodesSeen)};
    for (const double time : results.mean_series(key, kCurve)) line.y.push_back(1e3 * time);
    return line;
  }

  static void add_findings(const ReproductionContext& context, const Results& results,
                           Section& section) {
    const auto ratios = [&](const char* above, const char* below, const char* number) {
      std::vector<GraphRatio> found;
      for (const std::string& graph : context.scale().graphs) {
        found.push_back({graph, results.ratio({graph, above}, {graph, below}, number)});
      }
      return found;
    };
    section.findings.push_back(
        less_is_better("Training in the simulator improves on imitation (I+II / I, simulated)",
                       "curves only", ratios("I+II", "I", kSimulated)));
    section.findings.push_back(
        less_is_better("Imitation first makes training in the simulator end better (I+II / II)",
                       "curves only", ratios("I+II", "II", kSimulated)));
    std::vector<GraphRatio> published_ratios;
    for (const PublishedTimes& times : kPublished) {
      published_ratios.push_back(
          {std::string(times.graph),
           Estimate{.value = times.doppler_sys / times.doppler_sim, .samples = 1}});
    }
    section.findings.push_back(less_is_better(
        "Training on the engine improves on the simulator (I+II+III / I+II, on the engine)",
        ratios_text(published_ratios),
        context.online() ? ratios("I+II+III", "I+II", kEngine) : std::vector<GraphRatio>{}));
  }
};

}  // namespace

std::unique_ptr<Experiment> make_stages() {
  return std::make_unique<StageAblation>();
}

}  // namespace doppler::lab
