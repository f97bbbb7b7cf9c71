// Regenerates the paper's tables and figures from nothing, beside the published ones (the command
// `dopp reproduce`).
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "doppler/place/registry.h"
#include "lab/experiment.h"
#include "lab/online_learning.h"
#include "lab/scale.h"

namespace doppler::lab {

struct ReproduceSettings {
  Scale scale = Scale::full();
  std::string folder = "reproduction";
  std::string page = {};               // where the page goes; empty: index.md in the folder
  std::vector<std::string> only = {};  // names of experiments; empty: all
  std::string graphs_folder = {};      // of the published graph files; empty: none
  std::string version = {};            // of the program: results of others are not gone on with
  int threads = 1;                     // cells side by side; does not change untimed results
  OnlineLearning online = {};          // stage III; empty: absent
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const std::string&)> progress = {};  // from any thread, one at a time
};

struct ReproduceReport {
  std::string page;                             // that was written
  std::size_t before = 0, done = 0, total = 0;  // cells: found in the folder, there now, of all
  bool interrupted = false;
  double seconds = 0.0;  // of this call
  std::vector<Finding> findings = {};
};

// Goes on where a call before was interrupted or killed. Pages and pictures are written in the end,
// of what is there where interrupted. Throws ParameterError for an unknown experiment, InputError
// where the folder holds something else, and what experiments throw.
ReproduceReport reproduce(const ReproduceSettings& settings, const place::Registry& methods);

}  // namespace doppler::lab
