#include "doppler/render/result_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doppler/base/statistics.h"
#include "doppler/base/units.h"
#include "doppler/render/analysis_text.h"
#include "doppler/render/table.h"

namespace doppler::render {
namespace {

std::string gap_text(const place::Result& result) {
  if (result.optimal) return "optimal";
  if (!std::isfinite(result.gap)) return "no bound";
  return fmt::format("{:.1f} %", 100.0 * result.gap);
}

std::string bound_text(const cost::Problem& problem, const place::Result& result) {
  const std::string value = format_time(result.bound.value, problem.time_unit());
  if (result.optimal) return fmt::format("optimal: meets the bound '{}'", result.bound.name);
  return fmt::format("{} above the bound '{}' of {}", gap_text(result), result.bound.name, value);
}

std::string search_text(const place::Result& result, std::string_view evaluations_setting) {
  std::string text =
      fmt::format("{}, seed {}, {:.2f} s", result.method, result.seed, result.seconds);
  if (result.evaluations > 0) {
    text += fmt::format(", {} evaluations", format_integer(result.evaluations));
  }
  if (result.timed && result.evaluations > 0) {
    text += fmt::format(" ({} {} replays it)", evaluations_setting, result.evaluations);
  }
  if (result.interrupted) text += ", interrupted";
  return text;
}

std::string distribution_text(const cost::Problem& problem,
                              const schedule::Distribution& distribution) {
  return fmt::format("{} on average, {} at the 95th percentile of {} runs",
                     format_time(distribution.mean, problem.time_unit()),
                     format_time(distribution.p95, problem.time_unit()), distribution.runs);
}

std::string objective_text(const cost::Problem& problem, const place::Result& result) {
  if (!result.nominal_reference) return {};
  const double reference = *result.nominal_reference;
  const double nominal = result.figures.nominal;
  const std::string best = format_time(reference, problem.time_unit());
  if (nominal <= reference) {
    return fmt::format(
        "Optimised for {}, which costs nothing nominally (a short nominal search: {}).\n",
        schedule::objective_name(result.objective), best);
  }
  return fmt::format(
      "Optimised for {}, which costs {:.1f} % nominally (a short nominal search: {}).\n",
      schedule::objective_name(result.objective), 100.0 * (nominal / reference - 1.0), best);
}

std::string memory_text(const cost::Problem& problem, const std::vector<double>& peak) {
  std::string text;
  for (std::size_t d = 0; d < std::min(kDevicesShown, peak.size()); ++d) {
    if (d > 0) text += d % 4 == 0 ? ",\n           " : ", ";
    text += fmt::format("{} {}", problem.topology().devices()[d].name, format_bytes(peak[d]));
  }
  if (peak.size() > kDevicesShown) {
    text += fmt::format(",\n           largest {} of {}",
                        format_bytes(*std::max_element(peak.begin(), peak.end())), peak.size());
  }
  return text;
}

// The entries of one method, summed up.
struct MethodRow {
  std::string method;
  std::vector<const place::Result*> results;

  template <class Member>
  double median_of(const Member& member) const {
    std::vector<double> values;
    for (const place::Result* result : results) values.push_back(member(*result));
    return median(std::move(values));
  }
};

std::vector<MethodRow> rows_of(const std::vector<analysis::ComparisonEntry>& entries) {
  std::vector<MethodRow> rows;
  for (const analysis::ComparisonEntry& entry : entries) {
    if (rows.empty() || rows.back().method != entry.method) rows.push_back({entry.method, {}});
    if (entry.result) rows.back().results.push_back(&*entry.result);
  }
  return rows;
}

std::string device_table(const cost::Problem& problem, const std::vector<double>& utilisation,
                         const std::vector<double>& peak_memory_bytes) {
  Table table({{"device", Align::kLeft}, {"busy"}, {"peak memory"}});
  for (std::size_t d = 0; d < std::min(kDevicesShown, utilisation.size()); ++d) {
    table.add_row({problem.topology().devices()[d].name,
                   fmt::format("{:.1f} %", 100.0 * utilisation[d]),
                   format_bytes(peak_memory_bytes[d])});
  }
  std::string text = table.render();
  if (utilisation.size() > kDevicesShown) {
    text += fmt::format("… and {} more\n", utilisation.size() - kDevicesShown);
  }
  return text;
}

// Returns the line on the makespan of a result that has `runs`, `min`, `median` and `max`.
std::string makespan_text(const auto& result, const std::string& unit) {
  if (result.runs == 1) return fmt::format("makespan   {}", format_time(result.median, unit));
  return fmt::format("makespan   {} median of {} runs, {} to {}", format_time(result.median, unit),
                     format_integer(static_cast<std::uint64_t>(result.runs)),
                     format_time(result.min, unit), format_time(result.max, unit));
}

}  // namespace

std::string place_text(const cost::Problem& problem, const place::Result& result,
                       const analysis::Limits& limits, std::string_view evaluations_setting) {
  std::string text = wrap("method   ", search_text(result, evaluations_setting));
  if (!result.note.empty()) text += wrap("         ", result.note);
  text +=
      fmt::format("\nmakespan   {}, {}\n", format_time(result.figures.nominal, problem.time_unit()),
                  bound_text(problem, result));
  text += fmt::format("robust     {}\n", distribution_text(problem, result.figures.robust));
  text += fmt::format("any order  {}\n", distribution_text(problem, result.figures.any_order));
  text += fmt::format("memory     {}\n", memory_text(problem, result.figures.peak_memory_bytes));
  text += fmt::format("moved      {} between devices\n", format_bytes(result.figures.bytes_moved));
  return text + "\n" + objective_text(problem, result) +
         limits_text(problem, result.placement, limits);
}

std::string compare_text(const cost::Problem& problem,
                         const std::vector<analysis::ComparisonEntry>& entries) {
  const std::vector<MethodRow> rows = rows_of(entries);
  double best = cost::kInfinity;
  std::size_t seeds = 1;
  for (const MethodRow& row : rows) {
    seeds = std::max(seeds, row.results.size());
    for (const place::Result* result : row.results) best = std::min(best, result->figures.nominal);
  }
  const std::string& unit = problem.time_unit();
  Table table({{"method", Align::kLeft},
               {"makespan"},
               {"vs best"},
               {"gap"},
               {"robust"},
               {"any order"},
               {"seconds"},
               {"evaluations"}});
  for (const MethodRow& row : rows) {
    if (row.results.empty()) {
      table.add_row({row.method, "none found", "", "", "", "", "", ""});
      continue;
    }
    const auto figure = [&](const auto& member) {
      return format_time(row.median_of(member), unit);
    };
    const double nominal = row.median_of([](const place::Result& r) { return r.figures.nominal; });
    const bool optimal = std::all_of(row.results.begin(), row.results.end(),
                                     [](const place::Result* r) { return r->optimal; });
    table.add_row(
        {row.method, format_time(nominal, unit),
         best > 0.0 ? fmt::format("{:.3f}", nominal / best) : "1.000",
         optimal ? "optimal"
                 : fmt::format("{:.1f} %",
                               100.0 * row.median_of([](const place::Result& r) { return r.gap; })),
         figure([](const place::Result& r) { return r.figures.robust.mean; }),
         figure([](const place::Result& r) { return r.figures.any_order.mean; }),
         fmt::format("{:.2f}", row.median_of([](const place::Result& r) { return r.seconds; })),
         format_integer(static_cast<std::uint64_t>(row.median_of(
             [](const place::Result& r) { return static_cast<double>(r.evaluations); })))});
  }
  std::string text = table.render();
  for (const analysis::ComparisonEntry& entry : entries) {
    if (!entry.result) text += wrap(entry.method + ": ", entry.failure);
  }
  const MethodRow* first = nullptr;
  for (const MethodRow& row : rows) {
    if (!row.results.empty()) {
      first = &row;
      break;
    }
  }
  if (first) {
    const schedule::Bound& bound = first->results.front()->bound;
    text +=
        fmt::format("gap: above the bound '{}' of {}", bound.name, format_time(bound.value, unit));
    text += seeds > 1 ? fmt::format("; medians over {} seeds\n", seeds) : "\n";
  }
  return text;
}

std::string execute_text(const cost::Problem& problem, const exec::ExecuteSettings& settings,
                         const exec::ExecuteResult& result, double predicted) {
  const std::string& unit = problem.time_unit();
  std::string text = makespan_text(result, unit);
  text += settings.backend == exec::kThreadsBackend    ? " on this machine's cores"
          : settings.clock == exec::EngineClock::kWall ? " emulated"
                                                       : " emulated, on a virtual clock";
  if (result.interrupted) {
    text += fmt::format("; interrupted before the other {}",
                        format_integer(static_cast<std::uint64_t>(settings.runs - result.runs)));
  }
  text += "\n";
  if (settings.mode == schedule::Mode::kSynchronous) {
    text.insert(text.size() - 1, " (synchronous, level by level)");
  }
  text += fmt::format("simulated  {}", format_time(predicted, unit));
  if (predicted > 0.0) {
    text += fmt::format(": the run takes {:.1f} % {}",
                        100.0 * std::abs(result.median / predicted - 1.0),
                        result.median < predicted ? "less" : "more");
  }
  text += "\n";
  for (const exec::DeviceLoss& loss : settings.losses) {
    const bool lost = std::any_of(result.lost.begin(), result.lost.end(),
                                  [&](const auto& other) { return other.device == loss.device; });
    text += fmt::format("lost       {} after {} of the first run{}\n", loss.device,
                        format_time(loss.seconds, "s"),
                        lost ? "; what was left was placed anew" : ", which had ended by then");
  }
  if (result.noise) {
    text += fmt::format("noise      {:.1f} % between the medians of odd and even runs\n",
                        100.0 * *result.noise);
  }
  if (result.pacing_error_seconds) {
    text += fmt::format("pacing     at most {} late; time is stretched by {:.3g}\n",
                        format_time(*result.pacing_error_seconds, "s"), result.time_scale);
  }
  text += fmt::format("moved      {} between devices\n", format_bytes(result.bytes_moved));
  if (result.checked && !result.different) {
    text +=
        fmt::format("checked    {} results{} equal the serial runner's, bit for bit\n",
                    *result.checked, settings.runs + settings.warmup > 1 ? " of every run" : "");
  }
  return text + "\n" + device_table(problem, result.utilisation, result.peak_memory_bytes);
}

std::string simulate_text(const cost::Problem& problem, const sim::SimulateSettings& settings,
                          const sim::SimulateResult& result) {
  const std::string& unit = problem.time_unit();
  std::string text;
  text += makespan_text(result, unit);
  text += settings.mode == schedule::Mode::kSynchronous ? " (synchronous, level by level)\n" : "\n";
  text += "\n";
  text += device_table(problem, result.utilisation, result.peak_memory_bytes);
  if (result.excess_memory_bytes > 0.0) {
    text += fmt::format("This run does not fit: {} above capacity.\n",
                        format_bytes(result.excess_memory_bytes));
  }
  return text;
}

}  // namespace doppler::render
