#include "doppler/render/charts/charts.h"
#include "support/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace doppler::render {
namespace {

using test::times_found;
using ::testing::HasSubstr;
using ::testing::Not;

std::string drawn(std::vector<ScatterPoint> points) {
  return scatter_svg({.x_label = "measured, ms",
                      .y_label = "predicted, ms",
                      .series = {"first", "second"},
                      .panels = {{.title = "panel", .points = std::move(points)}}});
}

constexpr const char* kTitle = "<title>";  // only points have one

TEST(Scatter, DrawsPointsAxesAndLegend) {
  const std::string svg = drawn({{1, 1, 0, "a"}, {2, 1.5, 1, "b"}, {2.5, 2, 1, "c"}});
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_EQ(times_found(svg, kTitle), 3u);
  for (const char* text : {">panel<", ">measured, ms<", ">predicted, ms<", ">first<", ">second<",
                           ">1.6<", ">2<", "fill=\"#fff\"", "stroke-dasharray"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
}

// From 1 to 1000: ticks at 1, 2, 5, 10, …
TEST(Scatter, WideRangesAreLogarithmic) {
  const std::string svg = drawn({{1, 1, 0, ""}, {1000, 900, 0, ""}});
  for (const char* tick : {">1<", ">2<", ">5<", ">10<", ">50<", ">1000<"}) {
    EXPECT_THAT(svg, HasSubstr(tick));
  }
}

TEST(Scatter, NamesAreEscaped) {
  const std::string svg = drawn({{1, 1, 0, "<&\"\x01>"}});
  EXPECT_THAT(svg, HasSubstr("<title>&lt;&amp;&quot; &gt;</title>"));
}

TEST(Scatter, PointsWithoutAPlaceAreLeftOut) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string svg =
      drawn({{1, 1, 0, ""}, {1, kInfinity, 0, ""}, {kInfinity - kInfinity, 1, 0, ""}});
  EXPECT_EQ(times_found(svg, kTitle), 1u);
  for (const auto& points : {std::vector<ScatterPoint>{}, {{0, 0, 0, ""}}, {{5, 5, 0, ""}}}) {
    const std::string one = drawn(points);
    EXPECT_EQ(times_found(one, kTitle), points.size());
    EXPECT_THAT(one, Not(HasSubstr("nan")));
    EXPECT_THAT(one, Not(HasSubstr("inf")));
  }
}

}  // namespace
}  // namespace doppler::render
