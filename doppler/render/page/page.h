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
#include "doppler/schedule/metrics.h"
#include "doppler/schedule/placement.h"
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

// What the page of `dopp report` shows of a placement: its nominal run, its figures, and what
// limits it in words.

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

// How a training went, from the folder that `dopp train` left, for the report.

// Of a folder of one training, or of several seeds, and of the service in it: one or both. Throws
// InputError where there is none, or where its files are damaged, with the line.
std::vector<render::PageTraining> read_training_curves(const std::string& folder);

}  // namespace doppler::render
