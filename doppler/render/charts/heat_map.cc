#include "doppler/render/charts/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "doppler/render/charts/svg.h"

namespace doppler::render {
namespace {

// In pixels.
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
