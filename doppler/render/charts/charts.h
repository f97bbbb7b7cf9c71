// Groups of bars, as an SVG picture of one or more panels.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/render/charts/svg.h"
#include "doppler/schedule/placement.h"
#include "doppler/schedule/timeline.h"

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

// Lines over two axes, as an SVG picture of one or more panels.

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

// Points over two axes of the same quantity, as an SVG picture: both axes have one range, and a
// line shows where the two are equal. On a white ground of its own, so that it suits any page.

struct ScatterPoint {
  double x = 0.0, y = 0.0;
  std::size_t series = 0;  // index into Scatter::series; gives the colour
  std::string label = {};  // shown where the mouse rests
};

// Axes are logarithmic where the largest number is more than three times the smallest one.
struct ScatterPanel {
  std::string title;
  std::vector<ScatterPoint> points = {};
};

struct Scatter {
  std::string x_label, y_label;           // with units
  std::vector<std::string> series;        // named in the legend; each is drawn over those before it
  std::vector<ScatterPanel> panels = {};  // side by side
};

// Points that are not finite, or not positive where axes are logarithmic, are left out.
std::string scatter_svg(const Scatter& scatter);

// A matrix of numbers as coloured squares with the numbers in them, as an SVG picture.

struct HeatMap {
  std::string title;
  std::string row_title, column_title;
  std::vector<std::string> rows, columns;
  // By row, then column; one that is not finite stays empty.
  std::vector<std::vector<double>> values = {};
  // Blue below, white there, orange above: both ends are told apart by people with any colour
  // vision. Full colour at `least` and `most` and beyond.
  double middle = 1.0, least = 0.5, most = 2.0;
  int digits = 2;  // behind the point
};

std::string heat_maps_svg(const std::vector<HeatMap>& maps);  // side by side

// Timelines as SVG: for each device what it computes, and below, thinner, what it receives.

struct GanttPanel {
  std::string title;
  const cost::Problem* problem = nullptr;
  const schedule::Timeline* timeline = nullptr;
};

// One below the other, with one scale of time, so that their lengths can be compared. Nodes have
// the colours of the devices of `graph_picture`, kernels that follow each other in two shades.
std::string gantt_svg(const std::vector<GanttPanel>& panels);

// A placed graph as an SVG picture: nodes level by level from left to right, coloured by device.

struct GraphPanel {
  std::string title;
  const cost::Problem* problem = nullptr;
  const schedule::Placement* placement = nullptr;
};

// One below the other. Edges between devices are darker than those within one; larger nodes take
// longer. For graphs of up to some hundred nodes.
std::string graph_picture_svg(const std::vector<GraphPanel>& panels);

}  // namespace doppler::render
