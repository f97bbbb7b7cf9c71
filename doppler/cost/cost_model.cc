#include "doppler/cost/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace doppler::cost {

std::optional<double> GivenByKind::node_time(const graph::Graph& graph, NodeId node,
                                             const device::DeviceKind& kind) const {
  const auto names = graph.time_kind_names();
  std::optional<double> for_class;
  for (const graph::TimeForKind& entry : graph.times_by_kind(node)) {
    if (names[entry.kind] == kind.name) return entry.time;
    if (names[entry.kind] == device::class_name(kind.device_class)) for_class = entry.time;
  }
  return for_class;
}

std::optional<double> GivenSingle::node_time(const graph::Graph& graph, NodeId node,
                                             const device::DeviceKind&) const {
  return graph.given_time(node);
}

std::optional<double> Roofline::node_time(const graph::Graph& graph, NodeId node,
                                          const device::DeviceKind& kind) const {
  const auto flops = graph.flops(node);
  const auto read = graph.bytes_read(node);
  const auto written = graph.bytes_written(node);
  std::optional<double> bytes;
  if (read || written) bytes = read.value_or(0.0) + written.value_or(0.0);
  const device::Efficiency efficiency = kind.efficiency(graph.op_kind(node)).of(flops, bytes);
  std::optional<double> seconds;
  if (flops && kind.peak_flops) seconds = *flops / (*kind.peak_flops * efficiency.compute);
  if (bytes && kind.memory_bandwidth) {
    seconds =
        std::max(seconds.value_or(0.0), *bytes / (*kind.memory_bandwidth * efficiency.memory));
  }
  if (seconds) *seconds += kind.launch_overhead_seconds;
  return seconds;
}

namespace {

// The least ratio of the largest to the smallest size at which latency and bandwidth can be told
// apart.
constexpr double kLeastRatioOfSizes = 2.0;

// Sums over samples of products of 1 / seconds ("per"), bytes / seconds ("rate") and 1: a
// prediction a + b x bytes has the relative error a x per + b x rate - 1.
struct Sums {
  double per = 0.0, rate = 0.0, per_per = 0.0, per_rate = 0.0, rate_rate = 0.0;
  double smallest = std::numeric_limits<double>::infinity(), largest = 0.0;  // bytes

  explicit Sums(std::span<const TransferSample> samples) {
    for (const TransferSample& sample : samples) {
      if (!(sample.seconds > 0.0)) continue;  // a relative error needs a positive time
      const double u = 1.0 / sample.seconds, v = sample.bytes / sample.seconds;
      per += u;
      rate += v;
      per_per += u * u;
      per_rate += u * v;
      rate_rate += v * v;
      smallest = std::min(smallest, sample.bytes);
      largest = std::max(largest, sample.bytes);
    }
  }

  // Returns the sum of the squared relative errors minus the number of samples, which is constant.
  double error(double a, double b) const {
    return a * a * per_per + 2.0 * a * b * per_rate + b * b * rate_rate -
           2.0 * (a * per + b * rate);
  }
};

Link link_of(double latency, double seconds_per_byte) {
  return {latency, 1.0 / seconds_per_byte};
}

Link fit_both(const Sums& s) {
  const double determinant = s.per_per * s.rate_rate - s.per_rate * s.per_rate;
  const double a = (s.per * s.rate_rate - s.rate * s.per_rate) / determinant;
  const double b = (s.rate * s.per_per - s.per * s.per_rate) / determinant;
  if (a >= 0.0 && b >= 0.0) return link_of(a, b);
  // The error is convex, so the best pair without a negative figure has one of them 0.
  const double only_latency = s.per / s.per_per;
  const double only_bytes = s.rate / s.rate_rate;
  return s.error(only_latency, 0.0) < s.error(0.0, only_bytes) ? link_of(only_latency, 0.0)
                                                               : link_of(0.0, only_bytes);
}

Link fit_one_size(const Link& nominal, const Sums& s) {
  const double latency = nominal.latency_seconds;
  const double seconds_per_byte = (s.rate - latency * s.per_rate) / s.rate_rate;
  if (seconds_per_byte > 0.0) return link_of(latency, seconds_per_byte);
  const double b = 1.0 / nominal.bandwidth;
  const double factor =
      (latency * s.per + b * s.rate) /
      (latency * latency * s.per_per + 2.0 * latency * b * s.per_rate + b * b * s.rate_rate);
  return {factor * latency, nominal.bandwidth / factor};
}

}  // namespace

Link fit_link(const Link& nominal, std::span<const TransferSample> samples) {
  const Sums sums(samples);
  // No transfer took any time, or the figures overflow.
  if (sums.per == 0.0 || !std::isfinite(sums.per_per + sums.rate_rate)) return nominal;
  const Link found = sums.largest == 0.0 ? Link{sums.per / sums.per_per, nominal.bandwidth}
                     : sums.largest >= kLeastRatioOfSizes * sums.smallest
                         ? fit_both(sums)
                         : fit_one_size(nominal, sums);
  return std::isfinite(found.latency_seconds) && found.bandwidth > 0.0 ? found : nominal;
}

}  // namespace doppler::cost
