#include "doppler/report/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string_view>

namespace doppler::report {
namespace {

// In pixels.
constexpr double kPlot = 380.0;  // side of the square that points are drawn in
constexpr double kLeft = 74.0, kRight = 26.0, kTop = 44.0, kBottom = 58.0;
constexpr double kLegend = 40.0;
constexpr double kMargin = 0.05;  // of the range, on both ends

constexpr double kLogarithmicFrom = 3.0;  // largest over smallest

// Told apart by people with any colour vision (Okabe and Ito, "Color universal design", 2008).
constexpr std::array<std::string_view, 7> kColours{"#0072b2", "#999999", "#e69f00", "#009e73",
                                                   "#cc79a7", "#56b4e9", "#d55e00"};

std::string escaped(std::string_view text) {
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

// From a range of numbers to 0..1, for both directions.
class Axis {
 public:
  explicit Axis(const std::vector<ScatterPoint>& points) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const ScatterPoint& point : points) {
      for (const double value : {point.x, point.y}) {
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
    if (!(low <= high)) low = high = 1.0;
    logarithmic_ = low > 0.0 && high > kLogarithmicFrom * low;
    low_ = scaled(low);
    high_ = scaled(high);
    if (low_ == high_) {  // one number only: a tenth of it around
      const double half = low == 0.0 ? 0.5 : 0.05 * std::abs(low);
      low_ -= half;
      high_ += half;
    }
    const double margin = kMargin * (high_ - low_);
    low_ -= margin;
    high_ += margin;
  }

  // Outside 0..1 or not a number where the value has no place here.
  double place(double value) const { return (scaled(value) - low_) / (high_ - low_); }

  std::vector<double> ticks() const {
    if (!logarithmic_) return linear_ticks();
    std::vector<double> ticks = logarithmic_ticks({1.0, 2.0, 5.0});
    if (ticks.size() < 3) ticks = logarithmic_ticks({1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0});
    return ticks;
  }

 private:
  double scaled(double value) const { return logarithmic_ ? std::log10(value) : value; }

  // At these multiples of all powers of ten.
  std::vector<double> logarithmic_ticks(std::initializer_list<double> multiples) const {
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
  std::vector<double> linear_ticks() const {
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

  bool logarithmic_ = false;
  double low_ = 0.0, high_ = 1.0;  // scaled
};

std::string_view colour_of(std::size_t series) {
  return kColours[series % kColours.size()];
}

void draw_text(std::string& svg, double x, double y, std::string_view anchor, std::string_view text,
               std::string_view more = "") {
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, escaped(text));
}

void draw_axes(std::string& svg, const Axis& axis) {
  for (const double tick : axis.ticks()) {
    const double at = kPlot * axis.place(tick);
    svg += fmt::format("<path d=\"M{0:.1f} 0V{1}M0 {2:.1f}H{1}\" stroke=\"#e4e4e4\"/>\n", at, kPlot,
                       kPlot - at);
    const std::string label = fmt::format("{:.6g}", std::abs(tick) < 1e-12 ? 0.0 : tick);
    draw_text(svg, at, kPlot + 18, "middle", label);
    draw_text(svg, -8, kPlot - at + 4, "end", label);
  }
  svg +=
      fmt::format("<path d=\"M0 {0}L{0} 0\" stroke=\"#777\" stroke-dasharray=\"5 4\"/>\n", kPlot);
  svg += fmt::format("<rect width=\"{0}\" height=\"{0}\" fill=\"none\" stroke=\"#555\"/>\n", kPlot);
}

void draw_points(std::string& svg, const Axis& axis, const std::vector<ScatterPoint>& points,
                 std::size_t series) {
  for (const ScatterPoint& point : points) {
    if (point.series != series) continue;
    const double x = axis.place(point.x), y = axis.place(point.y);
    if (!(x >= 0.0 && x <= 1.0 && y >= 0.0 && y <= 1.0)) continue;
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"{}\" fill-opacity=\"0.8\" "
        "stroke=\"#fff\" stroke-width=\"0.8\"><title>{}</title></circle>\n",
        kPlot * x, kPlot * (1.0 - y), colour_of(point.series), escaped(point.label));
  }
}

// About how wide a name is drawn; fonts differ.
double width_of(std::string_view name) {
  double width = 0.0;
  for (const char c : name) {
    width += std::string_view(" fijlrt").find(c) != std::string_view::npos ? 4.8
             : c == 'm' || c == 'w'                                        ? 12.0
                                                                           : 7.8;
  }
  return width;
}

void draw_legend(std::string& svg, const std::vector<std::string>& series, double width, double y) {
  constexpr double kMark = 20.0, kGap = 24.0;
  double length = -kGap;
  for (const std::string& name : series) length += kMark + width_of(name) + kGap;
  double x = std::max(0.0, 0.5 * (width - length));
  for (std::size_t s = 0; s < series.size(); ++s) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>\n", x + 5, y - 4,
                       colour_of(s));
    draw_text(svg, x + kMark, y, "start", series[s]);
    x += kMark + width_of(series[s]) + kGap;
  }
}

}  // namespace

std::string scatter_svg(const Scatter& scatter) {
  constexpr double kPanelWidth = kLeft + kPlot + kRight;
  const double width =
      kPanelWidth * static_cast<double>(std::max<std::size_t>(1, scatter.panels.size()));
  const double height = kTop + kPlot + kBottom + kLegend;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" "
      "font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\" font-size=\"13\" "
      "fill=\"#222\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      width, height);
  for (std::size_t p = 0; p < scatter.panels.size(); ++p) {
    const ScatterPanel& panel = scatter.panels[p];
    const Axis axis(panel.points);
    svg += fmt::format("<g transform=\"translate({} {})\">\n",
                       kPanelWidth * static_cast<double>(p) + kLeft, kTop);
    draw_text(svg, 0.5 * kPlot, -16, "middle", panel.title, " font-weight=\"600\"");
    draw_axes(svg, axis);
    for (std::size_t s = 0; s < scatter.series.size(); ++s) draw_points(svg, axis, panel.points, s);
    draw_text(svg, 0.5 * kPlot, kPlot + 42, "middle", scatter.x_label);
    draw_text(svg, 0, 0, "middle", scatter.y_label,
              fmt::format(" transform=\"translate({} {}) rotate(-90)\"", -54, 0.5 * kPlot));
    svg += "</g>\n";
  }
  draw_legend(svg, scatter.series, width, height - 22);
  return svg + "</svg>\n";
}

}  // namespace doppler::report
