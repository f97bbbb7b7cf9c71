#include "lab/verdicts.h"

#include <fmt/format.h>

#include <utility>

namespace doppler::lab {
namespace {

// How surely an estimate lies on the wanted side of 1.
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
  finding.ours += fmt::format(". So on {} of {}", sure, ratios.size());
  if (opposite > 0) finding.ours += fmt::format(", the opposite on {}", opposite);
  finding.verdict = sure == ratios.size() ? Verdict::kConfirmed
                    : sure > 0            ? Verdict::kPartly
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
