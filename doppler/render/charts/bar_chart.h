// Groups of bars, as an SVG picture of one or more panels.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace doppler::render {

struct Bar {
  double value = std::numeric_limits<double>::quiet_NaN();  // none: nothing is drawn
  double low = value, high = value;  // ends of an interval, drawn as a whisker
  // A figure to compare with, drawn as a hollow diamond; none: not drawn.
  double reference = std::numeric_limits<double>::quiet_NaN();
};

struct BarGroup {
  std::string name;
  std::vector<Bar> bars = {};  // by series
};

struct BarPanel {
  std::string title;
  std::vector<BarGroup> groups = {};
};

struct BarChart {
  std::string y_label = {};              // with the unit
  std::vector<std::string> series = {};  // named in the legend
  std::string reference = {};            // what diamonds are, for the legend; empty: there are none
  double line = std::numeric_limits<double>::quiet_NaN();  // a level to compare with, dashed
  // What is above is cut there, with its value beside it; keeps one from dwarfing the others.
  double most = std::numeric_limits<double>::infinity();
  std::size_t columns = 1;            // panels side by side
  std::vector<BarPanel> panels = {};  // with one vertical axis for all, from zero
};

std::string bar_chart_svg(const BarChart& chart);

}  // namespace doppler::render
