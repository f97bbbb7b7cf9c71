#include "doppler/render/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/json_writer.h"
#include "doppler/render/analysis_text.h"
#include "doppler/render/page/page_graph.h"
#include "doppler/render/problem_text.h"
#include "doppler/schedule/bounds.h"
#include "doppler/sim/repeated_runs.h"
#include "doppler/sim/simulator.h"

namespace doppler::render {

namespace {

#include "doppler/render/page/page_text.inc"
#include "doppler/schedule/metrics.h"

// The data go here; in the template this is an empty object.
constexpr std::string_view kData = "<script id=\"data\" type=\"application/json\">";

// Together these keep a page below 5 MB.
constexpr std::size_t kMostItems = 20'000;  // over all graphs
constexpr std::size_t kMostNameBytes = 1'000'000;
constexpr std::size_t kMostLinks = 40'000;
constexpr std::size_t kMostMemberBytes = 1'500'000;
constexpr std::size_t kLongestName = 160;
constexpr std::size_t kShortestName = 24;
constexpr std::size_t kMostBars = 100'000;  // over all placements
constexpr std::size_t kMostMemorySamples = 40'000;

// The graphs of the page, each once, though several placements may be of one.
class Graphs {
 public:
  explicit Graphs(const Page& page) {
    for (const PagePlacement& placement : page.placements) {
      index_.try_emplace(placement.problem->graph().hash(), index_.size());
    }
    const std::size_t most =
        index_.empty() ? 0 : std::min(kMostDrawnNodes, kMostItems / index_.size());
    std::size_t items = 0;
    for (const PagePlacement& placement : page.placements) {
      const graph::Graph& graph = placement.problem->graph();
      if (index_of(graph) != graphs_.size()) continue;
      graphs_.push_back({.graph = &graph, .drawn = {}});
      items += std::min(most, graph.node_count());
    }
    if (graphs_.empty()) return;
    detail_ = {.items = std::max<std::size_t>(most, 2),
               .name_bytes = std::clamp(kMostNameBytes / std::max<std::size_t>(items, 1),
                                        kShortestName, kLongestName),
               .links = kMostLinks / graphs_.size(),
               .member_bytes = kMostMemberBytes / graphs_.size()};
    for (Entry& entry : graphs_) entry.drawn = page_graph(*entry.graph, detail_);
  }

  std::size_t index_of(const graph::Graph& graph) const { return index_.at(graph.hash()); }
  const PageGraph& drawn(const graph::Graph& graph) const { return graphs_[index_of(graph)].drawn; }

  void write(JsonWriter& json) const {
    json.key("graphs").begin_array();
    for (const Entry& entry : graphs_) page_graph_json(json, *entry.graph, entry.drawn, detail_);
    json.end_array();
  }

 private:
  struct Entry {
    const graph::Graph* graph;
    PageGraph drawn;
  };
  std::map<std::uint64_t, std::size_t> index_;  // by hash
  std::vector<Entry> graphs_;
  GraphDetail detail_;  // of each
};

void write_lines(JsonWriter& json, std::string_view key, std::string_view text) {
  json.key(key).begin_array();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    json.value(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  json.end_array();
}

void write_placement(JsonWriter& json, const PagePlacement& placement, const Graphs& graphs,
                     const RunDetail& detail) {
  const cost::Problem& problem = *placement.problem;
  json.begin_object()
      .field("name", placement.name)
      .field("graph", graphs.index_of(problem.graph()))
      .field("graph_path", placement.graph_path)
      .field("devices_name", problem.topology().name())
      .field("method", placement.method)
      .field("seed", placement.seed)
      .field("time_unit", problem.time_unit())
      .field("bytes_moved", placement.figures.bytes_moved)
      .field("excess_bytes", placement.figures.excess_memory_bytes);
  schedule::write_distribution(json, "robust", placement.figures.robust);
  schedule::write_distribution(json, "any_order", placement.figures.any_order);
  json.key("bound")
      .begin_object(JsonLayout::kCompact)
      .field("name", placement.bound.name)
      .field("value", placement.bound.value)
      .field("met", schedule::meets(placement.figures.nominal, placement.bound))
      .end_object();
  write_lines(json, "subject", placement.subject);
  write_lines(json, "explanation", placement.explanation);
  page_run_json(json, problem, graphs.drawn(problem.graph()), placement.timeline, detail);
  json.end_object();
}

// Five digits are more than a curve shows.
void write_numbers(JsonWriter& json, std::string_view key, const std::vector<double>& numbers) {
  json.key(key).begin_array(JsonLayout::kCompact);
  for (const double number : numbers) json.value(std::round(number * 1e5) / 1e5);
  json.end_array();
}

void write_training(JsonWriter& json, const PageTraining& training) {
  json.begin_object().field("name", training.name).field("unit", training.unit);
  json.key("facts").begin_array();
  for (const std::string& fact : training.facts) json.value(fact);
  json.end_array();
  json.key("stages").begin_array();
  for (const PageStage& stage : training.stages) {
    json.begin_object(JsonLayout::kCompact)
        .field("name", stage.name)
        .field("from", stage.from_episode)
        .field("to", stage.to_episode)
        .end_object();
  }
  json.end_array();
  json.key("curves").begin_array();
  for (const PageCurve& curve : training.curves) {
    json.begin_object().field("name", curve.name);
    write_numbers(json, "episodes", curve.episodes);
    write_numbers(json, "mean", curve.mean);
    write_numbers(json, "best", curve.best);
    json.end_object();
  }
  json.end_array().end_object();
}

std::string page_data(const Page& page) {
  const std::size_t placements = std::max<std::size_t>(page.placements.size(), 1);
  const RunDetail detail{.bars = kMostBars / 2 / placements,
                         .memory_samples = kMostMemorySamples / placements};
  const Graphs graphs(page);
  JsonWriter json;
  json.begin_object().field("title", page.title);
  graphs.write(json);
  json.key("placements").begin_array();
  for (const PagePlacement& placement : page.placements) {
    write_placement(json, placement, graphs, detail);
  }
  json.end_array();
  json.key("trainings").begin_array();
  for (const PageTraining& training : page.trainings) write_training(json, training);
  json.end_array();
  return json.end_object().take();
}

// JSON in a script element ends where HTML sees "</script" or "<!--". In JSON '<' only stands in
// strings, where it may as well be written by its number.
std::string escape_for_script(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string_view page_template() {
  return {kPage, sizeof(kPage) - 1};
}

std::string page_html(const Page& page) {
  const std::string_view html = page_template();
  const std::size_t found = html.find(kData);
  DOPPLER_CHECK(found != std::string_view::npos);
  const std::size_t begin = found + kData.size();
  const std::size_t end = html.find("</script>", begin);
  DOPPLER_CHECK(end != std::string_view::npos);
  std::string text(html.substr(0, begin));
  text += escape_for_script(page_data(page));
  text += html.substr(end);
  return text;
}

PagePlacement page_placement(std::shared_ptr<const cost::Problem> problem,
                             const schedule::Placement& placement, const PlacementLabels& labels) {
  PagePlacement shown{.name = labels.file,
                      .graph_path = labels.graph_path,
                      .method = labels.method,
                      .seed = labels.method_seed,
                      .problem = problem,
                      .timeline = sim::Simulator(*problem).timeline(placement),
                      .figures = sim::measure_figures(*problem, placement, labels.seed),
                      .bound = schedule::best_bound(*problem),
                      .subject = problem_text(*problem, labels.graph_path),
                      .explanation = {}};
  shown.explanation = limits_text(*problem, placement, analysis::find_limits(*problem, placement));
  return shown;
}

std::string page_title(const Page& page) {
  const auto name = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  if (page.placements.empty()) {
    return page.trainings.size() == 1 ? fmt::format("Training {}", page.trainings.front().name)
                                      : fmt::format("{} trainings", page.trainings.size());
  }
  const PagePlacement& first = page.placements.front();
  const auto all_same = [&](const auto& member) {
    return std::all_of(page.placements.begin(), page.placements.end(),
                       [&](const auto& other) { return member(other) == member(first); });
  };
  const bool one_graph = all_same([](const auto& p) { return p.graph_path; });
  const bool one_machine = all_same([](const auto& p) { return p.problem->topology().name(); });
  const std::string graph = one_graph ? name(first.graph_path) : "several graphs";
  return one_machine ? fmt::format("{} on {}", graph, first.problem->topology().name()) : graph;
}

}  // namespace doppler::render
