// What the page of `dopp report` shows of a placement: its nominal run, its figures, and what
// limits it in words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "doppler/cost/problem.h"
#include "doppler/render/page/page.h"
#include "doppler/schedule/placement.h"

namespace doppler::render {

struct PlacementLabels {
  std::string file;
  std::string graph_path;
  std::string method = {};
  std::uint64_t method_seed = 0;
  std::uint64_t seed = 1;  // of the runs behind the figures
};

// REQUIRES: the placement passes check_placement.
render::PagePlacement page_placement(std::shared_ptr<const cost::Problem> problem,
                                     const schedule::Placement& placement,
                                     const PlacementLabels& labels);

// "bert.onnx on 4xA100", "3 placements of bert.onnx", …
std::string page_title(const render::Page& page);

}  // namespace doppler::render
