// Placements and trainings as one HTML page that needs neither a network nor another file.
// page.html (built from tools/report-page, see docs/report.md) defines its looks; this module fills
// in the data. Names are shown as text, whatever characters they have.
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

// A placement with its nominal run, its figures, and what limits it.
struct PagePlacement {
  std::string name;  // of its file
  std::string graph_path;
  std::string method;  // empty where unknown
  std::uint64_t seed = 0;
  std::shared_ptr<const cost::Problem> problem;
  schedule::Timeline timeline;
  schedule::Figures figures;
  schedule::Bound bound;
  std::string subject;      // graph and devices in words, a line each
  std::string explanation;  // what limits it, a line each
};

// Shows how one seed of a training went. Times are divided by the best that the training found, so
// that 1 is the best, and averaged over its graphs.
struct PageCurve {
  std::string name;  // "seed 2"
  std::vector<double> episodes;
  std::vector<double> mean;  // of what was tried; NaN where nothing fitted
  std::vector<double> best;  // so far; NaN where there is none yet
};

// A stage of a training.
struct PageStage {
  std::string name;
  double from_episode = 0.0;
  double to_episode = 0.0;
};

// A training with its curves.
struct PageTraining {
  std::string name;                // of its folder
  std::vector<std::string> facts;  // in words, a line each
  std::vector<PageStage> stages;
  std::vector<PageCurve> curves;
  std::string unit = "episodes";  // what curves go over: episodes of a training, runs of a service
};

// Everything that the page shows.
struct Page {
  std::string title;
  std::vector<PagePlacement> placements = {};
  std::vector<PageTraining> trainings = {};
};

// Graphs of more nodes than this are drawn by groups; the limit is lower where a page has several
// graphs.
inline constexpr std::size_t kMostDrawnNodes = 5000;

// Returns the page.
std::string page_html(const Page& page);

// Returns the page without data, as page.html has it.
std::string_view page_template();

// Holds what the page says about where a placement comes from.
struct PlacementLabels {
  std::string file;
  std::string graph_path;
  std::string method = {};        // empty where unknown
  std::uint64_t method_seed = 0;  // of the method
  std::uint64_t seed = 1;         // of the runs behind the figures
};

// Simulates the placement and returns what the page shows of it. REQUIRES: the placement passes
// check_placement.
PagePlacement page_placement(std::shared_ptr<const cost::Problem> problem,
                             const schedule::Placement& placement, const PlacementLabels& labels);

// Returns a title such as "bert.onnx on 4xA100" or "3 placements of bert.onnx".
std::string page_title(const Page& page);

// Reads how a training went from its folder, which may hold several seeds: one entry for the
// training, one for the service that learned in it, or both. Throws InputError where the folder
// holds neither, or with the line where its files are damaged.
std::vector<PageTraining> read_training_curves(const std::string& folder);

}  // namespace doppler::render
