// Lines over two axes, as an SVG picture of one or more panels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "doppler/render/charts/svg.h"

namespace doppler::render {

// Points that are not finite interrupt the line; so do those not positive on a logarithmic axis.
struct Line {
  std::size_t series = 0;  // index into LineChart::series; gives the colour
  std::vector<double> x = {}, y = {};
  std::vector<double> low = {}, high = {};  // a band around the line; empty: none
};

struct LinePanel {
  std::string title;
  std::vector<Line> lines = {};
};

struct LineChart {
  std::string x_label = {}, y_label = {};  // with units
  std::vector<std::string> series = {};
  Scale x_scale = Scale::kLinear, y_scale = Scale::kLinear;
  bool marks = false;                  // a mark at each point
  bool from_zero = false;              // the vertical axis begins there
  std::size_t columns = 2;             // panels side by side
  std::vector<LinePanel> panels = {};  // each with axes of its own
};

std::string line_chart_svg(const LineChart& chart);

}  // namespace doppler::render
