// Collects what was measured: tables for people and rows of CSV.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace doppler::bench {

struct Row {
  std::string part = {};     // "overhead" or "workloads"
  std::string subject = {};  // shape or workload
  std::size_t nodes = 0;
  std::size_t transfers = 0;  // between our engine's devices, in each run
  std::string runtime = {};
  std::string quantity = {};  // with its unit
  std::size_t runs = 0;
  double median = 0.0;
  double max = 0.0;
  std::optional<double> noise = std::nullopt;  // as a share of the median
};

class Report {
 public:
  void add(Row row) { rows_.push_back(std::move(row)); }
  // Throws SystemError where the file cannot be written.
  void write_csv(const std::string& path) const;

 private:
  std::vector<Row> rows_;
};

// Columns as wide as their widest cell, the first on the left and the others on the right.
void print_table(const std::vector<std::vector<std::string>>& lines);

}  // namespace doppler::bench
