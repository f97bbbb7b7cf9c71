#include "doppler/render/charts/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace doppler::render {
namespace {

constexpr double kLegendMark = 20.0, kLegendGap = 24.0,
                 kLegendLine = 20.0;  // of legends, in pixels

}  // namespace

std::string_view svg_colour(std::size_t i) {
  return kSvgColours[i % kSvgColours.size()];
}

std::string svg_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

std::string svg_open(double width, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" "
      "font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\" font-size=\"13\" "
      "fill=\"#222\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      width, height);
}

void svg_text(std::string& svg, double x, double y, std::string_view anchor, std::string_view text,
              std::string_view more) {
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, svg_escaped(text));
}

double svg_text_width(std::string_view text) {
  double width = 0.0;
  for (const char c : text) {
    width += std::string_view(" fijlrt").find(c) != std::string_view::npos ? 4.8
             : c == 'm' || c == 'w'                                        ? 12.0
                                                                           : 7.8;
  }
  return width;
}

double svg_legend(std::string& svg, const std::vector<std::string>& names,
                  const std::vector<std::string_view>& colours, double width, double y) {
  std::size_t first = 0;
  double top = y;
  while (first < names.size()) {
    double length = kLegendMark + svg_text_width(names[first]);
    std::size_t end = first + 1;
    for (; end < names.size(); ++end) {
      const double more = kLegendGap + kLegendMark + svg_text_width(names[end]);
      if (length + more > width - 2.0 * kLegendGap) break;
      length += more;
    }
    double x = std::max(0.0, 0.5 * (width - length));
    for (std::size_t i = first; i < end; ++i) {
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>\n", x + 5,
                         top - 4, colours[i]);
      svg_text(svg, x + kLegendMark, top, "start", names[i]);
      x += kLegendMark + svg_text_width(names[i]) + kLegendGap;
    }
    first = end;
    top += kLegendLine;
  }
  return top - y;
}

SvgAxis::SvgAxis(double low, double high, Scale scale, double margin) : scale_(scale) {
  low_ = scaled(low);
  high_ = scaled(high);
  if (low_ == high_) {  // one number only: a tenth of it around
    const double half = low == 0.0 ? 0.5 : 0.05 * std::abs(low_ == 0.0 ? 1.0 : low_);
    low_ -= half;
    high_ += half;
  }
  const double more = margin * (high_ - low_);
  low_ -= more;
  high_ += more;
}

double SvgAxis::scaled(double value) const {
  return scale_ == Scale::kLogarithmic ? std::log10(value) : value;
}

std::vector<double> SvgAxis::ticks() const {
  if (scale_ == Scale::kLinear) return linear_ticks();
  std::vector<double> ticks = logarithmic_ticks({1.0, 2.0, 5.0});
  if (ticks.size() < 3) ticks = logarithmic_ticks({1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0});
  if (ticks.size() > 12) ticks = logarithmic_ticks({1.0});
  return ticks;
}

// At these multiples of all powers of ten.
std::vector<double> SvgAxis::logarithmic_ticks(std::initializer_list<double> multiples) const {
  std::vector<double> ticks;
  for (int power = static_cast<int>(std::floor(low_)); power <= high_; ++power) {
    for (const double multiple : multiples) {
      const double value = multiple * std::pow(10.0, power);
      if (place(value) >= 0.0 && place(value) <= 1.0) ticks.push_back(value);
    }
  }
  return ticks;
}

// About five, at multiples of 1, 2 or 5 times a power of ten.
std::vector<double> SvgAxis::linear_ticks() const {
  const double wanted = (high_ - low_) / 5.0;
  const double power = std::pow(10.0, std::floor(std::log10(wanted)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0}) {
    if (std::abs(factor * power - wanted) < std::abs(step - wanted)) step = factor * power;
  }
  std::vector<double> ticks;
  for (double n = std::ceil(low_ / step); n * step <= high_; ++n) ticks.push_back(n * step);
  return ticks;
}

std::string svg_tick_label(double value) {
  if (std::abs(value) < 1e-12) return "0";
  return std::abs(value) >= 1e4 ? fmt::format("{:.6g}k", value / 1e3)
                                : fmt::format("{:.6g}", value);
}

}  // namespace doppler::render
