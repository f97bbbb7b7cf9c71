// The experiment on growth: how the times of training and of placing grow with the number of nodes.
#include <fmt/format.h>

#include <cmath>

#include "doppler/device/spec.h"
#include "doppler/graph/generate/random.h"
#include "doppler/render/charts/charts.h"
#include "doppler/train/placers/policy_placer.h"
#include "lab/context.h"
#include "lab/experiment.h"
#include "lab/published.h"
#include "lab/reproduce.h"

namespace doppler::lab {
namespace {

constexpr const char* kVertices = "vertices";
constexpr const char* kTraining = "training_seconds";  // of an episode
constexpr const char* kPlacing = "placing_seconds";    // best of 64
constexpr const char* kRandom = "random ";             // keys of random graphs, then the size
constexpr std::uint64_t kTimedEpisodes = 64;           // timed, after as many that are not
// Growth up to this exponent counts as linear: caches alone make large graphs slower.
constexpr double kStillLinear = 1.15;

std::shared_ptr<const cost::Problem> random_problem(int nodes, std::uint64_t seed) {
  return std::make_shared<const cost::Problem>(
      std::make_shared<const graph::Graph>(
          graph::generate_random({.family = graph::family_by_name("layered"),
                                  .nodes = static_cast<std::size_t>(nodes),
                                  .ccr = 1.0,
                                  .seed = seed})),
      std::make_shared<const device::Topology>(device::topology_from_spec("uniform:4")));
}

class Growth final : public Experiment {
 public:
  std::string_view name() const override { return "growth"; }
  std::string_view title() const override { return "Time against vertices"; }
  bool timed() const override { return true; }
  bool alone() const override { return true; }

  Columns columns(const ReproductionContext&) const override {
    return {.keys = {"graph"}, .numbers = {kVertices, kTraining, kPlacing}};
  }

  std::vector<Cell> cells(const ReproductionContext& context) const override {
    std::vector<Cell> cells;
    for (const int nodes : context.scale().growth_nodes) {
      add_seeds(cells, context, {kRandom + std::to_string(nodes)}, 3e-4 * nodes);
    }
    for (const std::string& graph : context.scale().graphs) add_seeds(cells, context, {graph}, 0.1);
    return cells;
  }

  Outcome run(const ReproductionContext& context, const Cell& cell) const override {
    const std::string& name = cell.key.front();
    const auto problem =
        name.starts_with(kRandom)
            ? random_problem(std::stoi(name.substr(std::string_view(kRandom).size())), cell.seed)
            : context.problem(kFourDevices, name);
    train::TrainingPlan plan{.episodes = 2 * kTimedEpisodes, .seed = cell.seed};
    train::Training training(plan, {problem}, context.methods());
    while (training.updates() < training.total_updates() / 2) training.update();
    const double began = thread_seconds();
    while (!training.done()) training.update();
    const double trained = thread_seconds();
    place_with(context, *problem, train::shipped_policy(), kBestOfSamples, cell.seed);
    return {.numbers = {static_cast<double>(problem->node_count()),
                        (trained - began) / static_cast<double>(kTimedEpisodes),
                        thread_seconds() - trained}};
  }

  Section show(const ReproductionContext& context, const Results& results) const override {
    Section section{
        .question = "The paper's claim: training and inference time grow linearly with vertices.",
        .differs =
            "CPU time of one thread, four devices. Random layered graphs, and below the paper's "
            "four workloads, beside what an episode of the published code takes on one thread (as "
            "it was published, with a debug mode on that doubles it). Our networks are smaller "
            "(width 32, three rounds of messages, run once for a batch of 16 episodes)."};
    MarkdownTable table({"graph", "vertices", "ms for an episode of training",
                         "ms to place, best of 64", "published code, ms for an episode"});
    render::Line training{.series = 0}, placing{.series = 1};
    std::vector<double> nodes[2], seconds[2];
    const auto add_row = [&](const std::string& key, const std::string& theirs) {
      table.add({key, text_of(results.mean({key}, kVertices)),
                 text_of(results.mean({key}, kTraining), 1e3),
                 text_of(results.mean({key}, kPlacing), 1e3), theirs});
    };
    for (const int size : context.scale().growth_nodes) {
      const Key key{kRandom + std::to_string(size)};
      add_row(key.front(), "");
      std::size_t kind = 0;
      for (const char* number : {kTraining, kPlacing}) {
        for (const auto& [seed, value] : results.by_seed(key, number)) {
          nodes[kind].push_back(results.by_seed(key, kVertices).at(seed));
          seconds[kind].push_back(value);
        }
        ++kind;
      }
      const Estimate x = results.mean(key, kVertices);
      for (auto& [line, number] : {std::pair<render::Line&, const char*>(training, kTraining),
                                   std::pair<render::Line&, const char*>(placing, kPlacing)}) {
        const Estimate mean = results.mean(key, number);
        line.x.push_back(x.value);
        line.y.push_back(1e3 * mean.value);
      }
    }
    for (const std::string& graph : context.scale().graphs) {
      const PublishedTimes* times = published(graph);
      add_row(graph, times ? fmt::format("{:.0f}", 1e3 * times->episode_seconds) : "");
    }
    section.tables = table.text();
    section.pictures.push_back(
        {"growth", "Time against vertices",
         render::line_chart_svg(
             {.x_label = "vertices",
              .y_label = "milliseconds of CPU",
              .series = {"an episode of training", "placing, best of 64"},
              .x_scale = render::Scale::kLogarithmic,
              .y_scale = render::Scale::kLogarithmic,
              .marks = true,
              .columns = 1,
              .panels = {{"random layered graphs, four devices", {training, placing}}}})});
    const char* claims[] = {"Training time grows linearly with vertices (exponent)",
                            "Inference time grows linearly with vertices (exponent)"};
    for (std::size_t kind = 0; kind < 2; ++kind) {
      const Estimate exponent = growth_exponent(nodes[kind], seconds[kind]);
      Finding finding{.claim = claims[kind], .published = "linear", .ours = ratio_text(exponent)};
      if (exponent.present()) {
        finding.verdict =
            exponent.high <= kStillLinear ? Verdict::kConfirmed : Verdict::kNotConfirmed;
      }
      section.findings.push_back(std::move(finding));
    }
    return section;
  }
};

}  // namespace

std::unique_ptr<Experiment> make_growth() {
  return std::make_unique<Growth>();
}

}  // namespace doppler::lab
