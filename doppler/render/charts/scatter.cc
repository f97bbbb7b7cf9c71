#include "doppler/render/charts/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "doppler/render/charts/svg.h"

namespace doppler::render {
namespace {

// In pixels.
constexpr double kPlot = 380.0;  // side of the square that points are drawn in
constexpr double kScatterLeft = 74.0, kScatterRight = 26.0, kScatterTop = 44.0,
                 kScatterBottom = 58.0;
constexpr double kLegend = 40.0;
constexpr double kScatterMargin = 0.05;  // of the range, on both ends

constexpr double kLogarithmicFrom = 3.0;  // largest over smallest

// One axis for both directions.
SvgAxis axis_of(const std::vector<ScatterPoint>& points) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const ScatterPoint& point : points) {
    for (const double value : {point.x, point.y}) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (!(low <= high)) low = high = 1.0;
  const bool logarithmic = low > 0.0 && high > kLogarithmicFrom * low;
  return SvgAxis(low, high, logarithmic ? Scale::kLogarithmic : Scale::kLinear, kScatterMargin);
}

// As in kSvgColours, but for grey, which is for what comes second.
std::string_view colour_of(std::size_t series) {
  constexpr std::array<std::size_t, 7> kOrder{0, 6, 1, 2, 3, 4, 5};
  return svg_colour(kOrder[series % kOrder.size()]);
}

void draw_axes(std::string& svg, const SvgAxis& axis) {
  for (const double tick : axis.ticks()) {
    const double at = kPlot * axis.place(tick);
    svg += fmt::format("<path d=\"M{0:.1f} 0V{1}M0 {2:.1f}H{1}\" stroke=\"#e4e4e4\"/>\n", at, kPlot,
                       kPlot - at);
    const std::string label = svg_tick_label(tick);
    svg_text(svg, at, kPlot + 18, "middle", label);
    svg_text(svg, -8, kPlot - at + 4, "end", label);
  }
  svg +=
      fmt::format("<path d=\"M0 {0}L{0} 0\" stroke=\"#777\" stroke-dasharray=\"5 4\"/>\n", kPlot);
  svg += fmt::format("<rect width=\"{0}\" height=\"{0}\" fill=\"none\" stroke=\"#555\"/>\n", kPlot);
}

void draw_points(std::string& svg, const SvgAxis& axis, const std::vector<ScatterPoint>& points,
                 std::size_t series) {
  for (const ScatterPoint& point : points) {
    if (point.series != series) continue;
    const double x = axis.place(point.x), y = axis.place(point.y);
    if (!(x >= 0.0 && x <= 1.0 && y >= 0.0 && y <= 1.0)) continue;
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"{}\" fill-opacity=\"0.8\" "
        "stroke=\"#fff\" stroke-width=\"0.8\"><title>{}</title></circle>\n",
        kPlot * x, kPlot * (1.0 - y), colour_of(point.series), svg_escaped(point.label));
  }
}

}  // namespace

std::string scatter_svg(const Scatter& scatter) {
  constexpr double kPanelWidth = kScatterLeft + kPlot + kScatterRight;
  const double width =
      kPanelWidth * static_cast<double>(std::max<std::size_t>(1, scatter.panels.size()));
  const double height = kScatterTop + kPlot + kScatterBottom + kLegend;
  std::string svg = svg_open(width, height);
  for (std::size_t p = 0; p < scatter.panels.size(); ++p) {
    const ScatterPanel& panel = scatter.panels[p];
    const SvgAxis axis = axis_of(panel.points);
    svg += fmt::format("<g transform=\"translate({} {})\">\n",
                       kPanelWidth * static_cast<double>(p) + kScatterLeft, kScatterTop);
    svg_text(svg, 0.5 * kPlot, -16, "middle", panel.title, " font-weight=\"600\"");
    draw_axes(svg, axis);
    for (std::size_t s = 0; s < scatter.series.size(); ++s) draw_points(svg, axis, panel.points, s);
    svg_text(svg, 0.5 * kPlot, kPlot + 42, "middle", scatter.x_label);
    svg_text(svg, 0, 0, "middle", scatter.y_label,
             fmt::format(" transform=\"translate({} {}) rotate(-90)\"", -54, 0.5 * kPlot));
    svg += "</g>\n";
  }
  std::vector<std::string_view> colours;
  for (std::size_t s = 0; s < scatter.series.size(); ++s) colours.push_back(colour_of(s));
  svg_legend(svg, scatter.series, colours, width, height - 22);
  return svg + "</svg>\n";
}

}  // namespace doppler::render
