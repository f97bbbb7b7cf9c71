// The charts of reproductions: everything that has a place is drawn, nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "doppler/render/charts/charts.h"
#include "doppler/sim/simulator.h"
#include "support/random_problems.h"
#include "support/text.h"

namespace doppler::render {
namespace {

using test::times_found;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void expect_picture(const std::string& svg) {
  EXPECT_THAT(svg, StartsWith("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_EQ(times_found(svg, "<g "), times_found(svg, "</g>"));
}

TEST(LineChart, LinesBandsAndGaps) {
  LineChart chart{.x_label = "x", .y_label = "y", .series = {"<a>", "b"}};
  chart.panels = {
      {.title = "panel",
       .lines = {{.series = 0, .x = {1, 2, 3, 4, 5}, .y = {1, 2, kNan, 4, 5}},
                 {.series = 1, .x = {1, 2}, .y = {2, 2}, .low = {1, 1}, .high = {3, 3}}}}};
  const std::string svg = line_chart_svg(chart);
  expect_picture(svg);
  EXPECT_EQ(times_found(svg, "<polyline"), 3u);  // the first in two pieces
  EXPECT_EQ(times_found(svg, "<polygon"), 1u);
  EXPECT_THAT(svg, HasSubstr("&lt;a&gt;"));
  chart.marks = true;
  EXPECT_EQ(times_found(line_chart_svg(chart), "r=\"3.5\""), 6u);
  // Zero has no place on a logarithmic axis.
  chart.panels.front().lines = {{.series = 0, .x = {1, 2, 3}, .y = {0, 10, 1000}}};
  chart.y_scale = Scale::kLogarithmic;
  expect_picture(line_chart_svg(chart));
  EXPECT_EQ(times_found(line_chart_svg(chart), "r=\"3.5\""), 2u);
  chart.panels.front().lines.clear();
  expect_picture(line_chart_svg(chart));
  expect_picture(line_chart_svg({}));
}

TEST(BarChart, BarsWhiskersAndReferences) {
  BarChart chart{.y_label = "y", .series = {"a", "b"}, .reference = "published", .line = 1.0};
  chart.panels = {{.title = "panel",
                   .groups = {{"g", {{.value = 1, .low = 0.9, .high = 1.1, .reference = 2}, {}}},
                              {"h", {{.value = 2}, {.value = 9}}}}}};
  std::string svg = bar_chart_svg(chart);
  expect_picture(svg);
  EXPECT_EQ(times_found(svg, "<rect x="), 3u);  // one of four is absent
  EXPECT_EQ(times_found(svg, "stroke-width=\"1.2\""), 1u);
  EXPECT_EQ(times_found(svg, "l5 5l-5 5l-5 -5z"), 2u);  // the reference, and in the legend
  EXPECT_EQ(times_found(svg, "stroke-dasharray"), 1u);
  EXPECT_THAT(svg, Not(HasSubstr("rotate(90)")));
  chart.most = 4.0;
  svg = bar_chart_svg(chart);
  EXPECT_EQ(times_found(svg, "rotate(90)"), 1u);  // the bar of 9 is cut and says so
  EXPECT_THAT(svg, HasSubstr(">9</text>"));
  expect_picture(bar_chart_svg({}));
}

TEST(HeatMap, ColoursByDistanceFromTheMiddle) {
  HeatMap map{.title = "t",
              .row_title = "r",
              .column_title = "c",
              .rows = {"a", "b"},
              .columns = {"x", "y"},
              .values = {{1.0, 0.5}, {2.0, kNan}}};
  const std::string svg = heat_maps_svg({map, map});
  expect_picture(svg);
  EXPECT_EQ(times_found(svg, "fill=\"#ffffff\""), 2u);
  EXPECT_EQ(times_found(svg, "fill=\"#2c71b2\""), 2u);
  EXPECT_EQ(times_found(svg, "fill=\"#de781e\""), 2u);
  EXPECT_EQ(times_found(svg, ">0.50</text>"), 2u);
  EXPECT_EQ(times_found(svg, ">-</text>"), 2u);
}

TEST(Pictures, OfAPlacedGraph) {
  const auto problem = test::random_problem(30, 7);
  std::vector<DeviceId> devices;
  for (std::size_t v = 0; v < problem->node_count(); ++v) {
    devices.push_back(problem->allowed_devices(NodeId::of(v)).front());
  }
  const schedule::Placement placement = schedule::with_b_levels(*problem, devices);
  const schedule::Timeline timeline = sim::Simulator(*problem).timeline(placement);
  const std::string graph = graph_picture_svg({{"one", problem.get(), &placement}});
  expect_picture(graph);
  EXPECT_EQ(times_found(graph, "<title>"), problem->node_count());
  const std::string bars =
      gantt_svg({{"one", problem.get(), &timeline}, {"two", problem.get(), &timeline}});
  expect_picture(bars);
  EXPECT_EQ(times_found(bars, ">one</text>"), 1u);
  EXPECT_GT(times_found(bars, "<title>"), 0u);
  expect_picture(graph_picture_svg({}));
  expect_picture(gantt_svg({}));
}

}  // namespace
}  // namespace doppler::render
