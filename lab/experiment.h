// Experiments of the paper: the cells that one consists of, how to run a cell, the table of
// results, and the section of the page that shows them. To add an experiment, add a file to
// experiments/, its maker below and a line to all_experiments(). Experiments are immutable; the
// other types are plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/context.h"
#include "lab/statistics.h"

namespace doppler::lab {

using Key = std::vector<std::string>;  // identifies a cell: a graph, a method, …

// The smallest piece of an experiment that is run and stored.
struct Cell {
  Key key;
  std::uint64_t seed = 1;
  double weight = 1.0;  // rough duration in any unit, to estimate the time left
};

// The names of the columns of an experiment's table.
struct Columns {
  std::vector<std::string> keys = {}, numbers = {};
  std::vector<std::string> series = {};  // columns whose values are lists of numbers
};

// The results of one cell, in the order of the columns. A number may be kAbsent.
struct Outcome {
  std::vector<double> numbers = {};
  std::vector<std::vector<double>> series = {};
};

// The results of those cells that have finished. Numbers are named as in the columns. Not thread
// safe.
class Results {
 public:
  explicit Results(Columns columns) : columns_(std::move(columns)) {}

  void add(const Cell& cell, Outcome outcome);
  std::size_t size() const { return outcomes_.size(); }
  const Columns& columns() const { return columns_; }

  // Returns the results of a cell, or null if it has not finished.
  const Outcome* find(const Key& key, std::uint64_t seed) const;
  // Returns a number by seed, without cells that have not finished or lack it.
  std::map<std::uint64_t, double> by_seed(const Key& key, std::string_view number) const;
  // Returns the mean of a number over the seeds that have it.
  Estimate mean(const Key& key, std::string_view number) const;
  // Returns the geometric mean of above / below over the seeds that both have.
  Estimate ratio(const Key& above, const Key& below, std::string_view number) const;
  // Returns the geometric mean of the ratio of two numbers of one cell over its seeds.
  Estimate ratio_within(const Key& key, std::string_view above, std::string_view below) const;
  // Returns the series of the first seed that has it; empty if none does.
  const std::vector<double>& first_series(const Key& key, std::string_view series) const;
  // Returns the series of all seeds that have one which is not empty.
  std::vector<std::vector<double>> all_series(const Key& key, std::string_view series) const;
  // Returns the mean over the seeds at each position of the series.
  std::vector<double> mean_series(const Key& key, std::string_view series) const;

 private:
  Columns columns_;
  std::map<std::pair<Key, std::uint64_t>, Outcome> outcomes_;
};

enum class Verdict : std::uint8_t {
  kConfirmed,
  kPartly,
  kNotConfirmed,
  kOpen,  // not measured, or too little to say
};
std::string_view verdict_name(Verdict verdict);

// A claim of the paper, or a question that it leaves open, and our result.
struct Finding {
  std::string claim = {};
  std::string published = {};  // with figures
  std::string ours = {};
  Verdict verdict = Verdict::kOpen;
};

struct Picture {
  std::string name;  // of the file, without .svg
  std::string title;
  std::string svg;
};

// The section of the page on one experiment. Texts are in Markdown.
struct Section {
  std::string question = {};  // what the paper claims, in one or two sentences
  std::string tables = {};
  std::vector<Picture> pictures = {};
  std::string differs = {};  // from what the paper did
  std::vector<Finding> findings = {};
};

class Experiment {
 public:
  virtual ~Experiment() = default;
  virtual std::string_view name() const = 0;  // of its files
  virtual std::string_view title() const = 0;
  // Returns whether some numbers are measured with a clock, so that no two runs give the same.
  virtual bool timed() const { return false; }
  // Returns whether a cell must have the machine to itself.
  virtual bool alone() const { return false; }
  virtual Columns columns(const ReproductionContext& context) const = 0;
  virtual std::vector<Cell> cells(const ReproductionContext& context) const = 0;
  // Runs one cell, on the calling thread unless alone(). May be called from several threads at
  // once. If the context is interrupted meanwhile, the result means nothing.
  virtual Outcome run(const ReproductionContext& context, const Cell& cell) const = 0;
  // Returns the section for the results so far, of which there may be none.
  virtual Section show(const ReproductionContext& context, const Results& results) const = 0;
};

// These make the experiments, which are in the files of experiments/.
std::unique_ptr<Experiment> make_comparison();
std::unique_ptr<Experiment> make_modes();
std::unique_ptr<Experiment> make_policies();
std::unique_ptr<Experiment> make_stages();
std::unique_ptr<Experiment> make_learning();
std::unique_ptr<Experiment> make_graph_transfer();
std::unique_ptr<Experiment> make_machine_transfer();
std::unique_ptr<Experiment> make_growth();
std::unique_ptr<Experiment> make_messages();
std::unique_ptr<Experiment> make_fidelity();
std::unique_ptr<Experiment> make_assignments();
std::unique_ptr<Experiment> make_utilisation();

// Returns all experiments, in the order of the pages.
std::vector<std::unique_ptr<Experiment>> all_experiments();

// Appends a cell for each seed of the scale.
void add_seeds(std::vector<Cell>& cells, const ReproductionContext& context, Key key,
               double weight);

// --- verdicts from ratios ---

struct GraphRatio {
  std::string graph;
  Estimate ratio;
};

// Returns "0.97 chainmm, 1.02 ffnn".
std::string ratios_text(const std::vector<GraphRatio>& ratios);

// Returns the finding on a claim that ratios are below 1. It is confirmed if the whole interval is
// below 1 on every graph, not confirmed if on none, partly confirmed in between, and open if there
// is no ratio.
Finding less_is_better(std::string claim, std::string published,
                       const std::vector<GraphRatio>& ratios);
// Returns the finding on a claim that ratios are above 1, in the same way.
Finding more_is_better(std::string claim, std::string published,
                       const std::vector<GraphRatio>& ratios);

}  // namespace doppler::lab
