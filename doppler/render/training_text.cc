#include "doppler/render/result_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doppler/base/json_writer.h"
#include "doppler/base/units.h"

namespace doppler::render {
namespace {

using Problems = std::vector<train::TrainingProblem>;

void add_best_times(const Problems& problems, const train::SeedResult& seed, JsonWriter& json) {
  json.key("graphs").begin_array();
  for (std::size_t i = 0; i < problems.size(); ++i) {
    json.begin_object(JsonLayout::kCompact)
        .field("graph", problems[i].origin.graph)
        .field("devices", problems[i].origin.devices)
        .field("best", seed.best_times[i])
        .end_object();
  }
  json.end_array();
}

std::string offline_json(const std::string& folder, const Problems& problems,
                         const std::string& policy, const train::OfflineResult& result) {
  const train::SeedResult& best = result.seeds[result.best];
  JsonWriter json;
  json.begin_object().field("folder", folder).field("policy", policy);
  if (!result.placement_path.empty()) json.field("placement", result.placement_path);
  json.field("updates", best.updates).field("episodes", best.episodes);
  json.field("complete", result.complete).field("seconds", result.seconds);
  add_best_times(problems, best, json);
  if (result.seeds.size() > 1) {
    json.field("seed", best.seed).key("seeds").begin_array();
    for (const train::SeedResult& seed : result.seeds) {
      json.begin_object().field("seed", seed.seed).field("folder", seed.folder);
      add_best_times(problems, seed, json);
      json.end_object();
    }
    json.end_array();
  }
  return json.end_object().take();
}

std::string offline_text(const Problems& problems, const std::string& policy,
                         const train::OfflineResult& result, std::string_view interrupted,
                         std::string_view episodes) {
  // A list of many says nothing; metrics.csv has them all.
  constexpr std::size_t kMostShown = 20;
  std::string text =
      fmt::format("trained  {} {} in {:.1f} s", result.episodes_played, episodes, result.seconds);
  if (result.episodes_played > 0 && result.seconds > 0.0) {
    const double speed = static_cast<double>(result.episodes_played) / result.seconds;
    text += fmt::format(" ({} a second)", format_count(speed));
  }
  text += result.complete ? "\n" : fmt::format("; {}\n", interrupted);
  for (std::size_t s = 0; s < result.seeds.size(); ++s) {
    const train::SeedResult& seed = result.seeds[s];
    if (result.seeds.size() > 1) {
      text += fmt::format("seed {}{}\n", seed.seed, s == result.best ? ", the best" : "");
    }
    for (std::size_t i = 0; i < std::min(kMostShown, problems.size()); ++i) {
      const double best = seed.best_times[i];
      text += fmt::format(
          "best     {}  {} on {}\n",
          std::isfinite(best) ? format_time(best, problems[i].problem->time_unit()) : "none yet",
          problems[i].origin.graph, problems[i].origin.devices);
    }
  }
  if (!result.placement_path.empty()) text += fmt::format("wrote    {}\n", result.placement_path);
  return text + fmt::format("wrote    {}\n", policy);
}

std::string service_json(const std::string& folder, const std::string& policy,
                         const train::ServiceResult& result) {
  const train::OnlineSummary& summary = result.summary;
  JsonWriter json;
  json.begin_object().field("folder", folder);
  if (!policy.empty()) json.field("policy", policy);
  json.field("placement", result.placement_path);
  json.field("runs", summary.runs).field("explored", summary.explored);
  json.field("candidates", summary.candidates);
  json.key("promotions").begin_array();
  for (const train::Promotion& promotion : summary.promotions) {
    json.begin_object(JsonLayout::kCompact)
        .field("run", promotion.run)
        .field("source", promotion.source)
        .field("gain", -std::expm1(promotion.measured.log_ratio))
        .field("confirmed", promotion.confirmed)
        .field("moved_parameter_bytes", promotion.moved_parameter_bytes)
        .end_object();
  }
  json.end_array();
  json.key("improvement")
      .begin_object(JsonLayout::kCompact)
      .field("value", summary.improvement)
      .field("low", summary.improvement_low)
      .field("high", summary.improvement_high)
      .end_object();
  json.field("slowdown_paid", summary.slowdown_paid).field("noise", summary.noise);
  json.field("changes", summary.changes);
  json.field("first_median", result.first_median).field("last_median", result.last_median);
  json.field("complete", result.complete).field("seconds", result.seconds);
  return json.end_object().take();
}

std::string service_text(const std::string& unit, const std::string& policy,
                         const train::ServiceResult& result, std::string_view interrupted) {
  const train::OnlineSummary& summary = result.summary;
  std::string text = fmt::format(
      "served    {} runs in {:.1f} s, {} of them exploratory{}\n", summary.runs, result.seconds,
      summary.explored, result.complete ? std::string() : fmt::format("; {}", interrupted));
  text += fmt::format("tried     {} placements, of which {} took over\n", summary.candidates,
                      summary.promotions.size());
  text += fmt::format("faster by {:.1f} % (95 %: {:.1f} to {:.1f} %); noise of one run {:.1f} %\n",
                      100.0 * summary.improvement, 100.0 * summary.improvement_low,
                      100.0 * summary.improvement_high, 100.0 * summary.noise);
  const auto unconfirmed =
      std::count_if(summary.promotions.begin(), summary.promotions.end(),
                    [](const train::Promotion& promotion) { return !promotion.confirmed; });
  if (unconfirmed > 0) {
    text += fmt::format(
        "          {} of the {} were not measured again after they had won: they may gain less\n",
        unconfirmed, summary.promotions.size());
  }
  text += fmt::format("median    {} at first, {} at last\n", format_time(result.first_median, unit),
                      format_time(result.last_median, unit));
  text += fmt::format("exploring took {:+.2f} % of the time of all runs\n",
                      100.0 * summary.slowdown_paid);
  if (summary.changes > 0) {
    text += fmt::format("noticed   {} changes of devices and links\n", summary.changes);
  }
  text += fmt::format("wrote     {}\n", result.placement_path);
  return text + (policy.empty() ? "" : fmt::format("wrote     {}\n", policy));
}

}  // namespace

std::string training_text(const Problems& problems, const train::SessionResult& result,
                          std::string_view interrupted) {
  if (!result.service) {
    return offline_text(problems, result.policy_path,
                        result.measured ? *result.measured : *result.offline, interrupted,
                        result.measured ? "runs" : "episodes");
  }
  return service_text(problems.front().problem->time_unit(), result.policy_path, *result.service,
                      interrupted);
}

std::string training_json(const std::string& folder, const Problems& problems,
                          const train::SessionResult& result) {
  if (result.service) return service_json(folder, result.policy_path, *result.service);
  return offline_json(folder, problems, result.policy_path,
                      result.measured ? *result.measured : *result.offline);
}

}  // namespace doppler::render
