// Reproduction of the paper's tables and figures from nothing, beside the published ones (the
// command `dopp reproduce`), and the Markdown page that reports it.
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

// A table in Markdown. Not thread safe.
class MarkdownTable {
 public:
  explicit MarkdownTable(std::vector<std::string> titles);

  // Adds a row. REQUIRES: a cell for each title.
  void add(const std::vector<std::string>& cells);
  // Returns the table, ended with an empty line.
  std::string text() const { return text_ + "\n"; }

 private:
  std::size_t columns_;
  std::string text_;
};

// The part of the page on one experiment.
struct PagePart {
  const Experiment* experiment = nullptr;
  Section section;
  std::size_t done = 0, total = 0;  // numbers of cells
};

// Returns the page in Markdown: first what is confirmed and what is not, then a section for each
// experiment. `files` is the path from the page to the tables and pictures; empty: they are beside
// it.
std::string page_of(const ReproductionContext& context, const std::vector<PagePart>& parts,
                    const std::string& files);

struct ReproduceSettings {
  Scale scale = Scale::full();
  std::string folder = "reproduction";
  std::string page = {};  // path of the page, which ends in .md; empty: index.md in the folder
  std::vector<std::string> only = {};  // names of experiments; empty: all
  std::string graphs_folder = {};      // has the published graph files; empty: none
  std::string version = {};    // of the program; results of another version are not continued
  int threads = 1;             // number of cells at once; does not change untimed results
  OnlineLearning online = {};  // the learner of stage III; empty: its results are absent
  StopToken stop = {};         // ends it early; another call goes on from there
  // If set, this function is called with lines on the progress, from any thread but never by two at
  // once.
  std::function<void(const std::string&)> progress = {};
};

struct ReproduceReport {
  std::string page;                             // path of the page that was written
  std::size_t before = 0, done = 0, total = 0;  // cells: found in the folder, finished now, of all
  bool interrupted = false;
  double seconds = 0.0;  // duration of this call
  std::vector<Finding> findings = {};
};

// Runs the experiments and writes tables, pictures and the page. Continues where an earlier call in
// the same folder was interrupted or killed. If it is interrupted, it writes the page for the
// results so far. Throws ParameterError for an unknown experiment, InputError if the folder holds
// something else, and whatever experiments throw.
ReproduceReport reproduce(const ReproduceSettings& settings, const place::Registry& methods);

}  // namespace doppler::lab
