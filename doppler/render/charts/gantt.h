// Timelines as SVG: for each device what it computes, and below, thinner, what it receives.
#pragma once

#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/schedule/timeline.h"

namespace doppler::render {

struct GanttPanel {
  std::string title;
  const cost::Problem* problem = nullptr;
  const schedule::Timeline* timeline = nullptr;
};

// One below the other, with one scale of time, so that their lengths can be compared. Nodes have
// the colours of the devices of `graph_picture`, kernels that follow each other in two shades.
std::string gantt_svg(const std::vector<GanttPanel>& panels);

}  // namespace doppler::render
