#include "lab/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "doppler/base/error.h"

namespace doppler::lab {

namespace {

std::size_t index_in(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  DOPPLER_CHECK(found != names.end());
  return static_cast<std::size_t>(found - names.begin());
}

std::vector<double> quotients(const std::map<std::uint64_t, double>& above,
                              const std::map<std::uint64_t, double>& below) {
  std::vector<double> found;
  for (const auto& [seed, value] : above) {
    const auto other = below.find(seed);
    if (other != below.end() && value > 0.0 && other->second > 0.0) {
      found.push_back(value / other->second);
    }
  }
  return found;
}

}  // namespace

void Results::add(const Cell& cell, Outcome outcome) {
  DOPPLER_CHECK(outcome.numbers.size() == columns_.numbers.size());
  DOPPLER_CHECK(outcome.series.size() == columns_.series.size());
  outcomes_[{cell.key, cell.seed}] = std::move(outcome);
}

const Outcome* Results::find(const Key& key, std::uint64_t seed) const {
  const auto found = outcomes_.find({key, seed});
  return found == outcomes_.end() ? nullptr : &found->second;
}

std::map<std::uint64_t, double> Results::by_seed(const Key& key, std::string_view number) const {
  const std::size_t column = index_in(columns_.numbers, number);
  std::map<std::uint64_t, double> values;
  for (auto i = outcomes_.lower_bound({key, 0}); i != outcomes_.end() && i->first.first == key;
       ++i) {
    if (!std::isnan(i->second.numbers[column])) {
      values[i->first.second] = i->second.numbers[column];
    }
  }
  return values;
}

Estimate Results::mean(const Key& key, std::string_view number) const {
  std::vector<double> values;
  for (const auto& [seed, value] : by_seed(key, number)) values.push_back(value);
  return mean_of(values);
}

Estimate Results::ratio(const Key& above, const Key& below, std::string_view number) const {
  return geometric_mean_of(quotients(by_seed(above, number), by_seed(below, number)));
}

Estimate Results::ratio_within(const Key& key, std::string_view above,
                               std::string_view below) const {
  return geometric_mean_of(quotients(by_seed(key, above), by_seed(key, below)));
}

const std::vector<double>& Results::first_series(const Key& key, std::string_view series) const {
  static const std::vector<double> kNone;
  const std::size_t column = index_in(columns_.series, series);
  const auto found = outcomes_.lower_bound({key, 0});
  return found != outcomes_.end() && found->first.first == key ? found->second.series[column]
                                                               : kNone;
}

std::vector<std::vector<double>> Results::all_series(const Key& key,
                                                     std::string_view series) const {
  const std::size_t column = index_in(columns_.series, series);
  std::vector<std::vector<double>> found;
  for (auto i = outcomes_.lower_bound({key, 0}); i != outcomes_.end() && i->first.first == key;
       ++i) {
    if (!i->second.series[column].empty()) found.push_back(i->second.series[column]);
  }
  return found;
}

std::vector<double> Results::mean_series(const Key& key, std::string_view series) const {
  const std::vector<std::vector<double>> all = all_series(key, series);
  std::vector<double> means;
  for (;;) {
    std::vector<double> values;
    for (const std::vector<double>& one : all) {
      if (means.size() < one.size()) values.push_back(one[means.size()]);
    }
    if (values.empty()) return means;
    means.push_back(mean_of(values).value);
  }
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kConfirmed:
      return "confirmed";
    case Verdict::kPartly:
      return "partly confirmed";
    case Verdict::kNotConfirmed:
      return "not confirmed";
    case Verdict::kOpen:
      break;
  }
  return "open";
}

std::vector<std::unique_ptr<Experiment>> all_experiments() {
  std::vector<std::unique_ptr<Experiment>> all;
  all.push_back(make_comparison());
  all.push_back(make_modes());
  all.push_back(make_policies());
  all.push_back(make_stages());
  all.push_back(make_learning());
  all.push_back(make_graph_transfer());
  all.push_back(make_machine_transfer());
  all.push_back(make_growth());
  all.push_back(make_messages());
  all.push_back(make_fidelity());
  all.push_back(make_assignments());
  all.push_back(make_utilisation());
  return all;
}

void add_seeds(std::vector<Cell>& cells, const ReproductionContext& context, Key key,
               double weight) {
  for (int seed = 1; seed <= context.scale().seeds; ++seed) {
    cells.push_back({key, static_cast<std::uint64_t>(seed), weight});
  }
}

namespace {

// The degree to which an estimate is on the wanted side of 1.
bool is_surely(const Estimate& ratio, bool below) {
  const double end = below ? (ratio.has_interval() ? ratio.high : ratio.value)
                           : (ratio.has_interval() ? ratio.low : ratio.value);
  return below ? end < 1.0 : end > 1.0;
}

Finding judged(std::string claim, std::string published, const std::vector<GraphRatio>& given,
               bool below) {
  Finding finding{.claim = std::move(claim), .published = std::move(published)};
  std::vector<GraphRatio> ratios;
  for (const GraphRatio& ratio : given) {
    if (ratio.ratio.present()) ratios.push_back(ratio);
  }
  if (ratios.empty()) {
    finding.ours = "absent";
    return finding;
  }
  std::size_t sure = 0, opposite = 0;
  std::vector<double> values;
  for (const GraphRatio& ratio : ratios) {
    sure += is_surely(ratio.ratio, below);
    opposite += is_surely(ratio.ratio, !below);
    values.push_back(ratio.ratio.value);
  }
  finding.ours = ratios_text(ratios);
  if (ratios.size() > 1) {
    finding.ours += fmt::format("; geometric mean {:.3f}", geometric_mean_of(values).value);
  }
  finding.ours += fmt::format(". So on {} of {}", sure, given.size());
  if (opposite > 0) finding.ours += fmt::format(", the opposite on {}", opposite);
  const std::size_t absent = given.size() - ratios.size();
  if (absent > 0) finding.ours += fmt::format(", absent on {}", absent);
  finding.verdict = sure == given.size() ? Verdict::kConfirmed
                    : sure > 0           ? Verdict::kPartly
                                         : Verdict::kNotConfirmed;
  return finding;
}

}  // namespace

std::string ratios_text(const std::vector<GraphRatio>& ratios) {
  std::string text;
  for (const GraphRatio& ratio : ratios) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", ratio.graph, ratio_text(ratio.ratio));
  }
  return text;
}

Finding less_is_better(std::string claim, std::string published,
                       const std::vector<GraphRatio>& ratios) {
  return judged(std::move(claim), std::move(published), ratios, true);
}

Finding more_is_better(std::string claim, std::string published,
                       const std::vector<GraphRatio>& ratios) {
  return judged(std::move(claim), std::move(published), ratios, false);
}

}  // namespace doppler::lab
