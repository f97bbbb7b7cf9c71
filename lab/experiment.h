// One experiment of the paper: the cells that it consists of, how to run one, and what is shown of
// all. Adding one is a file here plus a line in experiments.cc.
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

using Key = std::vector<std::string>;  // of a cell: a graph, a method, …

// The least that is run and stored at once.
struct Cell {
  Key key;
  std::uint64_t seed = 1;
  double weight = 1.0;  // about how long it takes, in any unit: for the time left
};

// What the table of an experiment holds, by name.
struct Columns {
  std::vector<std::string> keys = {}, numbers = {};
  std::vector<std::string> series = {};  // lists of numbers
};

// Of one cell, in the order of the columns. A number may be kAbsent.
struct Outcome {
  std::vector<double> numbers = {};
  std::vector<std::vector<double>> series = {};
};

// The cells that are there so far.
class Results {
 public:
  explicit Results(Columns columns) : columns_(std::move(columns)) {}

  void add(const Cell& cell, Outcome outcome);
  std::size_t size() const { return outcomes_.size(); }
  const Columns& columns() const { return columns_; }

  // Null where the cell is not there.
  const Outcome* find(const Key& key, std::uint64_t seed) const;
  // By seed, without those that are not there or absent.
  std::map<std::uint64_t, double> by_seed(const Key& key, std::string_view number) const;
  Estimate mean(const Key& key, std::string_view number) const;
  // Geometric mean over the seeds that both have.
  Estimate ratio(const Key& above, const Key& below, std::string_view number) const;
  // Likewise of two numbers of one cell.
  Estimate ratio_within(const Key& key, std::string_view above, std::string_view below) const;
  // Of the first seed that has it; empty where none does.
  const std::vector<double>& first_series(const Key& key, std::string_view series) const;
  // Of all seeds that have it, not empty.
  std::vector<std::vector<double>> all_series(const Key& key, std::string_view series) const;

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

// A claim of the paper (or a question that it leaves open) and what came out here.
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

// In Markdown.
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
  // Some numbers are measured with a clock, so that no two runs give the same.
  virtual bool timed() const { return false; }
  // A cell must have the machine to itself.
  virtual bool alone() const { return false; }
  virtual Columns columns(const ReproductionContext& context) const = 0;
  virtual std::vector<Cell> cells(const ReproductionContext& context) const = 0;
  // On one thread, unless alone(). Where the context is interrupted, anything.
  virtual Outcome run(const ReproductionContext& context, const Cell& cell) const = 0;
  // From what is there; nothing need be.
  virtual Section show(const ReproductionContext& context, const Results& results) const = 0;
};

// All of them, in the order of the pages.
std::vector<std::unique_ptr<Experiment>> all_experiments();

// A cell of each seed of the scale.
void add_seeds(std::vector<Cell>& cells, const ReproductionContext& context, Key key,
               double weight);

// From ratios to verdicts on claims.

struct GraphRatio {
  std::string graph;
  Estimate ratio;
};

// "0.97 chainmm, 1.02 ffnn".
std::string ratios_text(const std::vector<GraphRatio>& ratios);

// A claim that ratios are below 1. Confirmed where that is so on every graph by the whole interval,
// not confirmed where it is on none, partly in between; open where there is nothing.
Finding less_is_better(std::string claim, std::string published,
                       const std::vector<GraphRatio>& ratios);
// That they are above.
Finding more_is_better(std::string claim, std::string published,
                       const std::vector<GraphRatio>& ratios);

}  // namespace doppler::lab
