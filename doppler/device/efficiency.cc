#include "doppler/device/efficiency.h"

#include <algorithm>
#include <cmath>

namespace doppler::device {

std::string_view size_key_name(SizeKey key) {
  return key == SizeKey::kBytes ? "bytes" : "flops_per_byte";
}

Efficiency EfficiencyTable::at(double size) const {
  const auto above = std::find_if(points.begin(), points.end(),
                                  [&](const EfficiencyPoint& point) { return point.size >= size; });
  if (above == points.end()) return points.back().efficiency;
  if (above == points.begin()) return points.front().efficiency;
  const EfficiencyPoint &low = *(above - 1), &high = *above;
  const double share = std::log(size / low.size) / std::log(high.size / low.size);
  const auto between = [&](double from, double to) { return from * std::pow(to / from, share); };
  return {.compute = between(low.efficiency.compute, high.efficiency.compute),
          .memory = between(low.efficiency.memory, high.efficiency.memory)};
}

Efficiency EfficiencyTable::of(std::optional<double> flops, std::optional<double> bytes) const {
  if (!bytes || !(*bytes > 0.0) || (key == SizeKey::kFlopsPerByte && !flops)) return of_large();
  return at(key == SizeKey::kBytes ? *bytes : *flops / *bytes);
}

}  // namespace doppler::device
