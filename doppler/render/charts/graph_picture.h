// A placed graph as an SVG picture: nodes level by level from left to right, coloured by device.
#pragma once

#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/schedule/placement.h"

namespace doppler::render {

struct GraphPanel {
  std::string title;
  const cost::Problem* problem = nullptr;
  const schedule::Placement* placement = nullptr;
};

// One below the other. Edges between devices are darker than those within one; larger nodes take
// longer. For graphs of up to some hundred nodes.
std::string graph_picture_svg(const std::vector<GraphPanel>& panels);

}  // namespace doppler::render
