#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "doppler/render/charts/charts.h"
#include "doppler/render/charts/svg.h"

namespace doppler::render {

namespace {

// Sizes of a line chart, in pixels.
constexpr double kLineChartWidth = 380.0, kLineChartHeight = 230.0;
constexpr double kLineChartLeft = 72.0, kLineChartRight = 22.0, kLineChartTop = 40.0,
                 kLineChartBottom = 56.0;
constexpr double kLineChartMargin = 0.04;  // of the range, on both ends

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void include(double value, Scale scale) {
    if (!std::isfinite(value) || (scale == Scale::kLogarithmic && value <= 0.0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  SvgAxis axis(Scale scale) const {
    return low <= high ? SvgAxis(low, high, scale, kLineChartMargin)
                       : SvgAxis(1.0, 1.0, scale, kLineChartMargin);
  }
};

class LinePanelDrawing {
 public:
  LinePanelDrawing(const LineChart& chart, const LinePanel& panel)
      : chart_(chart), panel_(panel), x_(x_axis()), y_(y_axis()) {}

  void draw(std::string& svg) const {
    svg_text(svg, 0.5 * kLineChartWidth, -14, "middle", panel_.title, " font-weight=\"600\"");
    for (const double tick : x_.ticks()) {
      const double at = kLineChartWidth * x_.place(tick);
      svg += fmt::format("<path d=\"M{:.1f} 0V{}\" stroke=\"#e9e9e9\"/>\n", at, kLineChartHeight);
      svg_text(svg, at, kLineChartHeight + 18, "middle", svg_tick_label(tick));
    }
    for (const double tick : y_.ticks()) {
      const double at = kLineChartHeight * (1.0 - y_.place(tick));
      svg += fmt::format("<path d=\"M0 {:.1f}H{}\" stroke=\"#e9e9e9\"/>\n", at, kLineChartWidth);
      svg_text(svg, -8, at + 4, "end", svg_tick_label(tick));
    }
    svg += fmt::format("<path d=\"M0 0V{1}H{0}\" fill=\"none\" stroke=\"#555\"/>\n",
                       kLineChartWidth, kLineChartHeight);
    for (const Line& line : panel_.lines) draw_band(svg, line);
    for (const Line& line : panel_.lines) draw_line(svg, line);
    svg_text(svg, 0.5 * kLineChartWidth, kLineChartHeight + 40, "middle", chart_.x_label);
    svg_text(
        svg, 0, 0, "middle", chart_.y_label,
        fmt::format(" transform=\"translate({} {}) rotate(-90)\"", -54, 0.5 * kLineChartHeight));
  }

 private:
  SvgAxis x_axis() const {
    Range range;
    for (const Line& line : panel_.lines) {
      for (const double x : line.x) range.include(x, chart_.x_scale);
    }
    return range.axis(chart_.x_scale);
  }
  SvgAxis y_axis() const {
    Range range;
    if (chart_.from_zero) range.include(0.0, chart_.y_scale);
    for (const Line& line : panel_.lines) {
      for (const auto* values : {&line.y, &line.low, &line.high}) {
        for (const double y : *values) range.include(y, chart_.y_scale);
      }
    }
    return range.axis(chart_.y_scale);
  }

  static bool inside(double share) { return share >= -1e-9 && share <= 1.0 + 1e-9; }

  // "x,y" of the points that have a place; what is missing splits the line in several.
  std::vector<std::string> pieces(const std::vector<double>& xs,
                                  const std::vector<double>& ys) const {
    std::vector<std::string> found(1);
    for (std::size_t i = 0; i < std::min(xs.size(), ys.size()); ++i) {
      const double x = x_.place(xs[i]), y = y_.place(ys[i]);
      if (inside(x) && inside(y)) {
        found.back() += fmt::format("{}{:.1f},{:.1f}", found.back().empty() ? "" : " ",
                                    kLineChartWidth * x, kLineChartHeight * (1.0 - y));
      } else if (!found.back().empty()) {
        found.emplace_back();
      }
    }
    return found;
  }

  void draw_band(std::string& svg, const Line& line) const {
    if (line.low.size() != line.x.size() || line.high.size() != line.x.size()) return;
    std::vector<double> xs = line.x, ys = line.high;
    xs.insert(xs.end(), line.x.rbegin(), line.x.rend());
    ys.insert(ys.end(), line.low.rbegin(), line.low.rend());
    const std::vector<std::string> outline = pieces(xs, ys);
    if (outline.size() > 1 || outline.front().empty()) return;
    svg += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.15\"/>\n",
                       outline.front(), svg_colour(line.series));
  }

  void draw_line(std::string& svg, const Line& line) const {
    for (const std::string& points : pieces(line.x, line.y)) {
      if (points.empty()) continue;
      svg += fmt::format(
          "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" "
          "stroke-linejoin=\"round\"/>\n",
          points, svg_colour(line.series));
    }
    if (!chart_.marks) return;
    for (std::size_t i = 0; i < std::min(line.x.size(), line.y.size()); ++i) {
      const double x = x_.place(line.x[i]), y = y_.place(line.y[i]);
      if (!inside(x) || !inside(y)) continue;
      svg +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n",
                      kLineChartWidth * x, kLineChartHeight * (1.0 - y), svg_colour(line.series));
    }
  }

  const LineChart& chart_;
  const LinePanel& panel_;
  SvgAxis x_, y_;
};

// Sizes of a scatter plot, in pixels.
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

std::string line_chart_svg(const LineChart& chart) {
  constexpr double kPanelWidth = kLineChartLeft + kLineChartWidth + kLineChartRight,
                   kPanelHeight = kLineChartTop + kLineChartHeight + kLineChartBottom;
  const std::size_t count = std::max<std::size_t>(1, chart.panels.size());
  const std::size_t columns = std::min(count, std::max<std::size_t>(1, chart.columns));
  const double width = kPanelWidth * static_cast<double>(columns);
  const double panels_height = kPanelHeight * static_cast<double>((count + columns - 1) / columns);
  std::string body;
  for (std::size_t p = 0; p < chart.panels.size(); ++p) {
    body += fmt::format("<g transform=\"translate({} {})\">\n",
                        kPanelWidth * static_cast<double>(p % columns) + kLineChartLeft,
                        kPanelHeight * static_cast<double>(p / columns) + kLineChartTop);
    LinePanelDrawing(chart, chart.panels[p]).draw(body);
    body += "</g>\n";
  }
  std::vector<std::string_view> colours;
  for (std::size_t s = 0; s < chart.series.size(); ++s) colours.push_back(svg_colour(s));
  const double legend = svg_legend(body, chart.series, colours, width, panels_height + 16);
  return svg_open(width, panels_height + legend + 10) + body + "</svg>\n";
}

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
