// Charts as SVG pictures of one or more panels: bars, lines, scatter plots, heat maps, timelines
// and placed graphs.
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

// One bar. A number that is NaN is not drawn.
struct Bar {
  double value = std::numeric_limits<double>::quiet_NaN();
  double low = value, high = value;  // the ends of an interval, drawn as a whisker
  // A number to compare with, drawn as a hollow diamond.
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
  std::string reference = {};  // what diamonds mean, for the legend; empty: there are none
  double line = std::numeric_limits<double>::quiet_NaN();  // a level to compare with, dashed
  // Bars above this are cut there, with their value beside them, so that one does not dwarf the
  // others.
  double most = std::numeric_limits<double>::infinity();
  std::size_t columns = 1;            // panels side by side
  std::vector<BarPanel> panels = {};  // with one vertical axis for all, from zero
};

std::string bar_chart_svg(const BarChart& chart);

// A line over two axes. Points that are not finite interrupt it, and so do points that are not
// positive on a logarithmic axis.
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

// A point of a scatter plot.
struct ScatterPoint {
  double x = 0.0, y = 0.0;
  std::size_t series = 0;  // index into Scatter::series; gives the colour
  std::string label = {};  // shown where the mouse rests
};

// The axes of a panel are logarithmic where its largest number is more than three times its
// smallest.
struct ScatterPanel {
  std::string title;
  std::vector<ScatterPoint> points = {};
};

// Points over two axes of the same quantity. Both axes have one range, and a line shows where the
// two are equal.
struct Scatter {
  std::string x_label, y_label;           // with units
  std::vector<std::string> series;        // named in the legend; each is drawn over those before it
  std::vector<ScatterPanel> panels = {};  // side by side
};

// Leaves out points that are not finite, or not positive where axes are logarithmic.
std::string scatter_svg(const Scatter& scatter);

// A matrix of numbers as coloured squares with the numbers in them.
struct HeatMap {
  std::string title;
  std::string row_title, column_title;
  std::vector<std::string> rows, columns;
  // By row, then column. The square of a number that is not finite stays empty.
  std::vector<std::vector<double>> values = {};
  // Squares are blue below the middle, white there and orange above: people with any colour vision
  // can tell the ends apart. The colour is full at `least` and `most` and beyond.
  double middle = 1.0, least = 0.5, most = 2.0;
  int digits = 2;  // behind the point
};

// Draws the maps side by side.
std::string heat_maps_svg(const std::vector<HeatMap>& maps);

// A run: for each device what it computes and, below that and thinner, what it receives.
struct GanttPanel {
  std::string title;
  const cost::Problem* problem = nullptr;
  const schedule::Timeline* timeline = nullptr;
};

// Draws the runs one below the other with one scale of time, so that their lengths can be compared.
// Nodes have the colours that graph_picture_svg gives their devices; kernels that follow each other
// have two shades.
std::string gantt_svg(const std::vector<GanttPanel>& panels);

// A placed graph: nodes level by level from left to right, coloured by device.
struct GraphPanel {
  std::string title;
  const cost::Problem* problem = nullptr;
  const schedule::Placement* placement = nullptr;
};

// Draws the graphs one below the other. Edges between devices are darker than those within one, and
// nodes that take longer are larger. For graphs of up to some hundred nodes.
std::string graph_picture_svg(const std::vector<GraphPanel>& panels);

}  // namespace doppler::render
