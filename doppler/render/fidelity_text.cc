#include "doppler/render/analysis_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "doppler/base/json_writer.h"
#include "doppler/base/statistics.h"
#include "doppler/base/units.h"
#include "doppler/render/charts/charts.h"
#include "doppler/render/problem_text.h"
#include "doppler/render/table.h"

namespace doppler::render {

namespace {

std::string percent_or_infinite(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", 100.0 * share) : "infinite";
}

std::string correlation(const char* name, const std::optional<double>& value) {
  return value ? fmt::format("{} {:.3f}", name, *value) : fmt::format("no {}", name);
}

std::string machine_text(const analysis::FidelitySettings& settings,
                         const analysis::Fidelity& fidelity) {
  std::string text =
      fmt::format("{} placements in {} rounds", fidelity.points.size(), fidelity.rounds);
  if (settings.runs > 1) text += fmt::format(" of {} runs", settings.runs);
  if (settings.backend == exec::kThreadsBackend) {
    text += " on this machine's cores";
  } else if (settings.clock == exec::EngineClock::kVirtual) {
    text += ", emulated, on a virtual clock";
  } else {
    text += fmt::format(", emulated, with time stretched by {:.3g}", fidelity.time_scale);
  }
  if (settings.profile) text += ", predicted with times measured in between";
  if (fidelity.interrupted) text += ", interrupted";
  if (fidelity.refused > 0) {
    text += fmt::format("; {} more did not fit in memory", fidelity.refused);
  }
  return text;
}

std::string pairs_text(const PairAgreement& pairs) {
  if (pairs.pairs == 0) return "none differ by more than twice the noise";
  return fmt::format(
      "{} of the {} that differ by more than twice the noise are in the same order",
      percent_or_infinite(static_cast<double>(pairs.agreeing) / static_cast<double>(pairs.pairs)),
      format_integer(pairs.pairs));
}

std::string origin_table(const cost::Problem& problem, const analysis::Fidelity& fidelity) {
  struct Row {
    std::vector<double> predicted, measured, errors;
  };
  std::map<std::string, Row> rows;
  for (const analysis::FidelityPoint& point : fidelity.points) {
    Row& row = rows[point.origin];
    row.predicted.push_back(point.predicted);
    row.measured.push_back(point.measured);
    row.errors.push_back(point.measured > 0.0 ? point.predicted / point.measured - 1.0 : 0.0);
  }
  Table table({{"origin", Align::kLeft},
               {"placements"},
               {"predicted"},
               {"measured"},
               {"predicted / measured - 1"}});
  for (const auto& [origin, row] : rows) {
    table.add_row({origin, format_integer(row.measured.size()),
                   format_time(median(row.predicted), problem.time_unit()),
                   format_time(median(row.measured), problem.time_unit()),
                   fmt::format("{:+.1f} %", 100.0 * median(row.errors))});
  }
  return table.render() + "Medians over the placements of an origin.\n";
}

// Sorts of origins, each with a colour of its own; the most common first, below the others.
enum Family : std::size_t { kNeighbours, kRandom, kOnePass, kSearched };

Family family_of(const std::string& origin) {
  if (origin == "random") return kRandom;
  if (origin == analysis::kNeighbour) return kNeighbours;
  return origin == "lns" || origin == "anneal" ? kSearched : kOnePass;
}

// A unit in which times like this one have one to three digits before the point.
std::pair<double, std::string> readable_unit(double time, const std::string& unit) {
  if (unit != "s" || time >= 1.0) return {1.0, unit};
  if (time >= 1e-3) return {1e3, "ms"};
  return {1e6, "us"};
}

// Written as null, like every number that does not exist.
constexpr double kNoCorrelation = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::string fidelity_text(const cost::Problem& problem, const analysis::FidelitySettings& settings,
                          const analysis::Fidelity& fidelity) {
  const std::string& unit = problem.time_unit();
  const auto best =
      std::min_element(fidelity.points.begin(), fidelity.points.end(),
                       [](const auto& a, const auto& b) { return a.measured < b.measured; });
  std::string text = wrap("", machine_text(settings, fidelity)) + "\n";
  text +=
      fmt::format("error      {} median, {} at most\n", percent_or_infinite(fidelity.median_error),
                  percent_or_infinite(fidelity.largest_error));
  text += fmt::format("bias       {:+.1f} % median{}\n", 100.0 * fidelity.bias,
                      fidelity.bias == 0.0  ? ""
                      : fidelity.bias < 0.0 ? ": the simulator predicts too little"
                                            : ": the simulator predicts too much");
  text += fmt::format("order      {} over all placements\n",
                      correlation("Spearman's rank correlation", fidelity.spearman));
  text += fmt::format("near best  {} of the {} measured within {:.0f} % of the best, {}\n",
                      correlation("Kendall's tau-b", fidelity.near_kendall), fidelity.near_best,
                      100.0 * analysis::kNearShare, format_time(best->measured, unit));
  text += fmt::format("pairs      {}\n", pairs_text(fidelity.pairs));
  text += fmt::format("noise      {} between the medians of odd and even rounds\n",
                      percent_or_infinite(fidelity.noise));
  if (!fidelity.references.empty()) {
    const auto [least, most] =
        std::minmax_element(fidelity.references.begin(), fidelity.references.end());
    text += fmt::format("drift      the reference took {} to {}; {} disturbed turns repeated\n",
                        format_time(*least, unit), format_time(*most, unit),
                        format_integer(fidelity.repeated));
  }
  if (fidelity.too_noisy()) {
    text += fmt::format(
        "void       noise above {:.0f} % makes these figures meaningless: use a quiet machine, "
        "more rounds or less jitter\n",
        100.0 * analysis::kMostNoise);
  }
  return text + "\n" + origin_table(problem, fidelity);
}

std::string fidelity_csv(const analysis::Fidelity& fidelity) {
  std::string text = "placement,origin,predicted,measured,min,max,noise,moved_bytes\n";
  for (std::size_t i = 0; i < fidelity.points.size(); ++i) {
    const analysis::FidelityPoint& point = fidelity.points[i];
    text += fmt::format("{},{},{},{},{},{},{},{}\n", i + 1, point.origin, point.predicted,
                        point.measured, point.least, point.most, point.noise, point.moved_bytes);
  }
  return text;
}

std::string fidelity_svg(const cost::Problem& problem, const analysis::Fidelity& fidelity) {
  double least = fidelity.points.front().measured;
  for (const analysis::FidelityPoint& point : fidelity.points)
    least = std::min(least, point.measured);
  const auto [factor, unit] = readable_unit(least, problem.time_unit());
  Scatter scatter{
      .x_label = fmt::format("measured, {}", unit),
      .y_label = fmt::format("predicted, {}", unit),
      .series = {"neighbours of the best", "random", "methods in one pass", "searches"}};
  ScatterPanel all{.title = fmt::format("All {} placements", fidelity.points.size())};
  ScatterPanel near{
      .title = fmt::format("Within {:.0f} % of the best measured", 100.0 * analysis::kNearShare)};
  for (std::size_t i = 0; i < fidelity.points.size(); ++i) {
    const analysis::FidelityPoint& point = fidelity.points[i];
    const ScatterPoint drawn{
        .x = factor * point.measured,
        .y = factor * point.predicted,
        .series = family_of(point.origin),
        .label = fmt::format("{}: {}, predicted {:.4g}, measured {:.4g} {}", i + 1, point.origin,
                             factor * point.predicted, factor * point.measured, unit)};
    all.points.push_back(drawn);
    if (point.measured <= (1.0 + analysis::kNearShare) * least) near.points.push_back(drawn);
  }
  scatter.panels = {std::move(all), std::move(near)};
  return scatter_svg(scatter);
}

std::string fidelity_json(const cost::Problem& problem, const GraphOrigin& origin,
                          const analysis::FidelitySettings& settings,
                          const analysis::Fidelity& fidelity) {
  JsonWriter json;
  json.begin_object();
  problem_json(json, problem, origin);
  json.field("engine", settings.backend)
      .field("clock",
             settings.clock == exec::EngineClock::kWall ? std::string_view("wall") : "virtual")
      .field("seed", settings.sample.seed)
      .field("rounds", fidelity.rounds)
      .field("runs", settings.runs)
      .field("time_scale", fidelity.time_scale)
      .field("profile", settings.profile)
      .field("interrupted", fidelity.interrupted)
      .field("refused", fidelity.refused)
      .field("repeated_turns", fidelity.repeated)
      .field("void", fidelity.too_noisy())
      .field("noise", fidelity.noise)
      .field("median_error", fidelity.median_error)
      .field("largest_error", fidelity.largest_error)
      .field("bias", fidelity.bias)
      .field("spearman", fidelity.spearman.value_or(kNoCorrelation));
  json.key("near_best")
      .begin_object(JsonLayout::kCompact)
      .field("placements", fidelity.near_best)
      .field("kendall", fidelity.near_kendall.value_or(kNoCorrelation))
      .end_object();
  json.key("pairs")
      .begin_object(JsonLayout::kCompact)
      .field("compared", fidelity.pairs.pairs)
      .field("agreeing", fidelity.pairs.agreeing)
      .end_object();
  json.key("placements").begin_array();
  for (const analysis::FidelityPoint& point : fidelity.points) {
    json.begin_object(JsonLayout::kCompact)
        .field("origin", point.origin)
        .field("predicted", point.predicted)
        .field("measured", point.measured)
        .field("min", point.least)
        .field("max", point.most)
        .field("noise", point.noise)
        .field("moved_bytes", point.moved_bytes)
        .end_object();
  }
  return json.end_array().end_object().take();
}

}  // namespace doppler::render
