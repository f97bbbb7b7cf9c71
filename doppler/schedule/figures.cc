#include "doppler/schedule/figures.h"

#include <algorithm>
#include <cmath>

#include "doppler/base/error.h"
#include "doppler/base/json_writer.h"

namespace doppler::schedule {

Distribution summarize(std::vector<double>& samples) {
  DOPPLER_CHECK(!samples.empty());
  std::sort(samples.begin(), samples.end());
  double sum = 0.0;
  for (const double sample : samples) sum += sample;
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(samples.size())));
  return {.mean = sum / static_cast<double>(samples.size()),
          .p95 = samples[std::max<std::size_t>(rank, 1) - 1],
          .runs = static_cast<int>(samples.size())};
}

void write_distribution(JsonWriter& json, std::string_view name, const Distribution& distribution) {
  json.key(name)
      .begin_object(JsonLayout::kCompact)
      .field("mean", distribution.mean)
      .field("p95", distribution.p95)
      .field("runs", distribution.runs)
      .end_object();
}

}  // namespace doppler::schedule
