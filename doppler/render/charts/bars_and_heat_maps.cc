#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "doppler/render/charts/charts.h"
#include "doppler/render/charts/svg.h"

namespace doppler::render {

namespace {

// Sizes of a bar chart, in pixels.
constexpr double kBar = 16.0, kGroupGap = 26.0, kNameGap = 14.0, kBarChartHeight = 230.0;
constexpr double kBarChartLeft = 68.0, kBarChartRight = 20.0, kBarChartTop = 40.0,
                 kBarChartBottom = 34.0;
constexpr double kAbove = 0.06;  // of the largest bar: room above it

double most_of(const BarChart& chart) {
  double most = std::isfinite(chart.line) ? chart.line : 0.0;
  for (const BarPanel& panel : chart.panels) {
    for (const BarGroup& group : panel.groups) {
      for (const Bar& bar : group.bars) {
        for (const double value : {bar.value, bar.high, bar.reference}) {
          if (std::isfinite(value)) most = std::max(most, std::min(value, chart.most));
        }
      }
    }
  }
  return most > 0.0 ? most : 1.0;
}

double bars_width(const BarChart& chart) {
  return kBar * static_cast<double>(chart.series.size());
}

// Wide enough for the bars and for every group's name.
double group_width(const BarChart& chart) {
  double width = bars_width(chart) + kGroupGap;
  for (const BarPanel& panel : chart.panels) {
    for (const BarGroup& group : panel.groups) {
      width = std::max(width, svg_text_width(group.name) + kNameGap);
    }
  }
  return width;
}

double panel_width(const BarChart& chart, const BarPanel& panel) {
  return group_width(chart) * static_cast<double>(std::max<std::size_t>(1, panel.groups.size()));
}

class BarPanelDrawing {
 public:
  BarPanelDrawing(const BarChart& chart, const BarPanel& panel, double most)
      : chart_(chart),
        panel_(panel),
        most_(most),
        axis_(0.0, (1.0 + kAbove) * most, Scale::kLinear, 0.0) {}

  void draw(std::string& svg) const {
    const double width = panel_width(chart_, panel_);
    svg_text(svg, 0.5 * width, -16, "middle", panel_.title, " font-weight=\"600\"");
    for (const double tick : axis_.ticks()) {
      svg +=
          fmt::format("<path d=\"M0 {:.1f}H{:.1f}\" stroke=\"#e9e9e9\"/>\n", height(tick), width);
      svg_text(svg, -8, height(tick) + 4, "end", svg_tick_label(tick));
    }
    for (std::size_t g = 0; g < panel_.groups.size(); ++g) {
      const double left = group_width(chart_) * static_cast<double>(g);
      for (std::size_t s = 0; s < panel_.groups[g].bars.size(); ++s) {
        draw_bar(
            svg,
            left + 0.5 * (group_width(chart_) - bars_width(chart_)) + kBar * static_cast<double>(s),
            s, panel_.groups[g].bars[s]);
      }
      svg_text(svg, left + 0.5 * group_width(chart_), kBarChartHeight + 20, "middle",
               panel_.groups[g].name);
    }
    if (std::isfinite(chart_.line)) {
      svg +=
          fmt::format("<path d=\"M0 {:.1f}H{:.1f}\" stroke=\"#333\" stroke-dasharray=\"5 4\"/>\n",
                      height(chart_.line), width);
    }
    svg += fmt::format("<path d=\"M0 0V{1}H{0:.1f}\" fill=\"none\" stroke=\"#555\"/>\n", width,
                       kBarChartHeight);
    svg_text(
        svg, 0, 0, "middle", chart_.y_label,
        fmt::format(" transform=\"translate({} {}) rotate(-90)\"", -50, 0.5 * kBarChartHeight));
  }

 private:
  double height(double value) const { return kBarChartHeight * (1.0 - axis_.place(value)); }

  void draw_bar(std::string& svg, double x, std::size_t series, const Bar& bar) const {
    const double middle = x + 0.5 * kBar;
    if (std::isfinite(bar.value)) {
      const bool cut = bar.value > chart_.most;
      const double top = height(std::min(bar.value, chart_.most));
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
          x + 1, top, kBar - 2, kBarChartHeight - top, svg_colour(series));
      if (cut) {
        svg_text(svg, 0, 0, "start", fmt::format("{:.3g}", bar.value),
                 fmt::format(" font-size=\"11\" fill=\"#fff\" transform=\"translate({:.1f} {:.1f}) "
                             "rotate(90)\"",
                             middle - 4, kBarChartHeight - 34));
      } else if (bar.high > bar.low) {
        const double low = height(bar.low), high = height(std::min(bar.high, most_));
        svg += fmt::format(
            "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}H{4:.1f}M{3:.1f} {2:.1f}H{4:.1f}\" "
            "stroke=\"#222\" stroke-width=\"1.2\"/>\n",
            middle, low, high, middle - 3, middle + 3);
      }
    }
    if (!std::isfinite(bar.reference)) return;
    const double at = height(std::min(bar.reference, chart_.most));
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}l5 5l-5 5l-5 -5z\" fill=\"#fff\" stroke=\"#111\" "
        "stroke-width=\"1.4\"/>\n",
        middle, at - 5);
    if (bar.reference > chart_.most) {
      svg_text(svg, middle, at - 8, "middle", fmt::format("{:.3g}", bar.reference),
               " font-size=\"11\"");
    }
  }

  const BarChart& chart_;
  const BarPanel& panel_;
  double most_;
  SvgAxis axis_;
};

// Sizes of a heat map, in pixels.
constexpr double kCellWidth = 92.0, kCellHeight = 34.0;
constexpr double kHeatMapTop = 84.0, kHeatMapBottom = 20.0, kHeatMapRight = 24.0, kLeastLeft = 40.0;

using Colour = std::array<double, 3>;
constexpr Colour kLow{44, 113, 178}, kWhite{255, 255, 255}, kHigh{222, 120, 30};

double left_of(const HeatMap& map) {
  double widest = svg_text_width(map.row_title);
  for (const std::string& row : map.rows) widest = std::max(widest, svg_text_width(row));
  return std::max(kLeastLeft, widest + 24.0);
}

double width_of(const HeatMap& map) {
  return left_of(map) + kCellWidth * static_cast<double>(map.columns.size()) + kHeatMapRight;
}

// From 0 at the middle to 1 at an end, in proportion to the logarithm where that exists.
double strength(const HeatMap& map, double value) {
  const double end = value < map.middle ? map.least : map.most;
  if (value <= 0.0 || end <= 0.0 || map.middle <= 0.0) {
    return std::clamp((value - map.middle) / (end - map.middle), 0.0, 1.0);
  }
  return std::clamp(std::log(value / map.middle) / std::log(end / map.middle), 0.0, 1.0);
}

void draw(std::string& svg, const HeatMap& map) {
  const double width = kCellWidth * static_cast<double>(map.columns.size());
  svg_text(svg, 0.5 * width, -52, "middle", map.title, " font-weight=\"600\"");
  svg_text(svg, 0.5 * width, -30, "middle", map.column_title, " fill=\"#666\"");
  svg_text(svg, -10, -10, "end", map.row_title, " fill=\"#666\"");
  for (std::size_t c = 0; c < map.columns.size(); ++c) {
    svg_text(svg, kCellWidth * (static_cast<double>(c) + 0.5), -10, "middle", map.columns[c]);
  }
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double top = kCellHeight * static_cast<double>(r);
    svg_text(svg, -10, top + 0.5 * kCellHeight + 4, "end", map.rows[r]);
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const double value = map.values[r][c];
      const double left = kCellWidth * static_cast<double>(c);
      if (!std::isfinite(value)) {
        svg_text(svg, left + 0.5 * kCellWidth, top + 0.5 * kCellHeight + 4, "middle", "-");
        continue;
      }
      const double share = strength(map, value);
      const Colour& end = value < map.middle ? kLow : kHigh;
      std::array<int, 3> mixed{};
      for (std::size_t i = 0; i < 3; ++i) {
        mixed[i] = static_cast<int>(std::lround(kWhite[i] + share * (end[i] - kWhite[i])));
      }
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" "
          "fill=\"#{:02x}{:02x}{:02x}\" stroke=\"#ccc\"/>\n",
          left, top, kCellWidth, kCellHeight, mixed[0], mixed[1], mixed[2]);
      svg_text(svg, left + 0.5 * kCellWidth, top + 0.5 * kCellHeight + 4, "middle",
               fmt::format("{:.{}f}", value, map.digits),
               share > 0.65 && value < map.middle ? " fill=\"#fff\"" : "");
    }
  }
}

}  // namespace

std::string bar_chart_svg(const BarChart& chart) {
  const std::size_t count = std::max<std::size_t>(1, chart.panels.size());
  const std::size_t columns = std::min(count, std::max<std::size_t>(1, chart.columns));
  double widest = columns == 1 ? 480.0 : 300.0;  // room for the legend
  for (const BarPanel& panel : chart.panels) {
    widest = std::max(widest, kBarChartLeft + panel_width(chart, panel) + kBarChartRight);
  }
  const double width = widest * static_cast<double>(columns);
  const double panel_height = kBarChartTop + kBarChartHeight + kBarChartBottom;
  const double panels_height = panel_height * static_cast<double>((count + columns - 1) / columns);
  const double most = most_of(chart);
  std::string body;
  for (std::size_t p = 0; p < chart.panels.size(); ++p) {
    body += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n",
                        widest * static_cast<double>(p % columns) + kBarChartLeft,
                        panel_height * static_cast<double>(p / columns) + kBarChartTop);
    BarPanelDrawing(chart, chart.panels[p], most).draw(body);
    body += "</g>\n";
  }
  std::vector<std::string_view> colours;
  for (std::size_t s = 0; s < chart.series.size(); ++s) colours.push_back(svg_colour(s));
  double bottom = panels_height + 18;
  bottom += svg_legend(body, chart.series, colours, width, bottom);
  if (!chart.reference.empty()) {
    const double x = 0.5 * (width - svg_text_width(chart.reference)) - 16;
    body += fmt::format(
        "<path d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\" fill=\"#fff\" stroke=\"#111\" "
        "stroke-width=\"1.4\"/>\n",
        x, bottom - 9);
    svg_text(body, x + 14, bottom, "start", chart.reference);
    bottom += 20;
  }
  return svg_open(width, bottom) + body + "</svg>\n";
}

std::string heat_maps_svg(const std::vector<HeatMap>& maps) {
  double width = 0.0, height = 0.0;
  std::string body;
  for (const HeatMap& map : maps) {
    body +=
        fmt::format("<g transform=\"translate({:.1f} {})\">\n", width + left_of(map), kHeatMapTop);
    draw(body, map);
    body += "</g>\n";
    width += width_of(map);
    height = std::max(
        height, kHeatMapTop + kCellHeight * static_cast<double>(map.rows.size()) + kHeatMapBottom);
  }
  return svg_open(std::max(width, 1.0), std::max(height, 1.0)) + body + "</svg>\n";
}

}  // namespace doppler::render
