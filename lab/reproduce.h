// Tables in Markdown.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "doppler/place/registry.h"
#include "lab/context.h"
#include "lab/experiment.h"
#include "lab/online_learning.h"

namespace doppler::lab {

class MarkdownTable {
 public:
  explicit MarkdownTable(std::vector<std::string> titles);

  // REQUIRES: a cell for each title.
  void add(const std::vector<std::string>& cells);
  // Ends with an empty line.
  std::string text() const { return text_ + "\n"; }

 private:
  std::size_t columns_;
  std::string text_;
};

// The page of a reproduction in Markdown: first what is confirmed and what is not, then a section
// for each experiment.

struct PagePart {
  const Experiment* experiment = nullptr;
  Section section;
  std::size_t done = 0, total = 0;  // cells
};

// `files`: where the tables and pictures are, as seen from the page; empty: beside it.
std::string page_of(const ReproductionContext& context, const std::vector<PagePart>& parts,
                    const std::string& files);

// Regenerates the paper's tables and figures from nothing, beside the published ones (the command
// `dopp reproduce`).

struct ReproduceSettings {
  Scale scale = Scale::full();
  std::string folder = "reproduction";
  std::string page = {};               // where the page goes; empty: index.md in the folder
  std::vector<std::string> only = {};  // names of experiments; empty: all
  std::string graphs_folder = {};      // of the published graph files; empty: none
  std::string version = {};            // of the program: results of others are not gone on with
  int threads = 1;                     // cells side by side; does not change untimed results
  OnlineLearning online = {};          // stage III; empty: absent
  StopToken stop = {};                 // ends it early; another call goes on from there
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
