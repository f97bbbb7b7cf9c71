// Points over two axes of the same quantity, as an SVG picture: both axes have one range, and a
// line shows where the two are equal. On a white ground of its own, so that it suits any page.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace doppler::render {

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

}  // namespace doppler::render
