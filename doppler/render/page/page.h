// Placements and trainings as one HTML page that needs nothing else: no network, no other file.
// What it looks like is page.html (built from tools/report-page, see docs/report.md); this fills
// in the data. Whatever names hold, the page shows them as text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/schedule/bounds.h"
#include "doppler/schedule/figures.h"
#include "doppler/schedule/timeline.h"

namespace doppler::render {

// A placement with its nominal run.
struct PagePlacement {
  std::string name;  // of the file
  std::string graph_path;
  std::string method;  // empty: unknown
  std::uint64_t seed = 0;
  std::shared_ptr<const cost::Problem> problem;
  schedule::Timeline timeline;
  schedule::Figures figures;
  schedule::Bound bound;
  std::string subject;      // graph and devices in words, a line each
  std::string explanation;  // what limits it, a line each
};

// Times are shares of the best that the training found, 1 the best, means over its graphs.
struct PageCurve {
  std::string name;  // "seed 2"
  std::vector<double> episodes;
  std::vector<double> mean;  // of what was tried; NaN where nothing fitted
  std::vector<double> best;  // so far; NaN where there is none yet
};

struct PageStage {
  std::string name;
  double from_episode = 0.0;
  double to_episode = 0.0;
};

struct PageTraining {
  std::string name;                // of the folder
  std::vector<std::string> facts;  // in words, a line each
  std::vector<PageStage> stages;
  std::vector<PageCurve> curves;
  std::string unit = "episodes";  // what curves go over: episodes of a training, runs of a service
};

struct Page {
  std::string title;
  std::vector<PagePlacement> placements = {};
  std::vector<PageTraining> trainings = {};
};

// Graphs of more nodes than this are drawn by groups, fewer where a page has several graphs.
inline constexpr std::size_t kMostDrawnNodes = 5000;

std::string write_page(const Page& page);

// The page without data, as page.html has it.
std::string_view page_template();

}  // namespace doppler::render
