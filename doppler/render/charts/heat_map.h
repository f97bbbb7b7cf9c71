// A matrix of numbers as coloured squares with the numbers in them, as an SVG picture.
#pragma once

#include <string>
#include <vector>

namespace doppler::render {

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

}  // namespace doppler::render
