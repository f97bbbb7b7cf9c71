#include "lab/statistics.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "doppler/base/error.h"

namespace doppler::lab {
namespace {

int digits_behind(double value) {
  const double size = std::abs(value);
  return size >= 1000.0 ? 0 : size >= 100.0 ? 1 : size >= 10.0 ? 2 : size >= 0.1 ? 3 : 5;
}

}  // namespace

double student_t(std::size_t degrees) {
  DOPPLER_CHECK(degrees >= 1);
  // To three decimals, as tables have it (Fisher and Yates, "Statistical Tables", table III).
  constexpr std::array<double, 30> kQuantiles{
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees <= kQuantiles.size()) return kQuantiles[degrees - 1];
  // The normal quantile with the first terms of its expansion; exact to 0.0003 from 31 on.
  constexpr double z = 1.959964;
  const double n = static_cast<double>(degrees);
  return z + (z * z * z + z) / (4.0 * n) +
         (5.0 * std::pow(z, 5) + 16.0 * z * z * z + 3.0 * z) / (96.0 * n * n);
}

Estimate mean_of(std::span<const double> samples) {
  Estimate estimate{.samples = samples.size()};
  if (samples.empty()) return estimate;
  const double count = static_cast<double>(samples.size());
  double sum = 0.0, squares = 0.0;
  for (const double sample : samples) sum += sample;
  estimate.value = sum / count;
  if (samples.size() < 2) return estimate;
  for (const double sample : samples) {
    squares += (sample - estimate.value) * (sample - estimate.value);
  }
  const double half = student_t(samples.size() - 1) * std::sqrt(squares / (count - 1.0) / count);
  estimate.low = estimate.value - half;
  estimate.high = estimate.value + half;
  return estimate;
}

Estimate geometric_mean_of(std::span<const double> samples) {
  std::vector<double> logarithms;
  for (const double sample : samples) logarithms.push_back(std::log(sample));
  Estimate estimate = mean_of(logarithms);
  for (double* end : {&estimate.value, &estimate.low, &estimate.high}) *end = std::exp(*end);
  return estimate;
}

Estimate growth_exponent(std::span<const double> x, std::span<const double> y) {
  DOPPLER_CHECK(x.size() == y.size());
  Estimate estimate{};
  if (x.size() < 3) return estimate;
  const double count = static_cast<double>(x.size());
  double mean_x = 0.0, mean_y = 0.0, xx = 0.0, xy = 0.0, errors = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / count;
    mean_y += std::log(y[i]) / count;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (std::log(x[i]) - mean_x) * (std::log(x[i]) - mean_x);
    xy += (std::log(x[i]) - mean_x) * (std::log(y[i]) - mean_y);
  }
  if (xx == 0.0) return estimate;
  estimate.samples = x.size();
  estimate.value = xy / xx;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = std::log(y[i]) - mean_y - estimate.value * (std::log(x[i]) - mean_x);
    errors += error * error;
  }
  const double half = student_t(x.size() - 2) * std::sqrt(errors / (count - 2.0) / xx);
  estimate.low = estimate.value - half;
  estimate.high = estimate.value + half;
  return estimate;
}

std::string text_of(const Estimate& estimate, double factor) {
  if (!estimate.present() || !std::isfinite(estimate.value)) return "-";
  const double value = factor * estimate.value;
  const int digits = digits_behind(value);
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (!estimate.has_interval()) return text;
  const double half = 0.5 * factor * (estimate.high - estimate.low);
  // A width below the last digit shown of the value is left out.
  if (half < 0.5 * std::pow(10.0, -digits)) return text;
  return text + fmt::format(" ± {:.{}f}", half, digits);
}

std::string ratio_text(const Estimate& ratio) {
  if (!ratio.present() || !std::isfinite(ratio.value)) return "-";
  std::string text = fmt::format("{:.3f}", ratio.value);
  if (ratio.has_interval() && ratio.high - ratio.low > 5e-4) {
    text += fmt::format(" ({:.3f} to {:.3f})", ratio.low, ratio.high);
  }
  return text;
}

std::string number_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits_behind(value)) : "-";
}

}  // namespace doppler::lab
