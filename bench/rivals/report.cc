#include "bench/rivals/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "doppler/base/error.h"

namespace doppler::bench {

void Report::write_csv(const std::string& path) const {
  std::ofstream file(path);
  file << "part,subject,nodes,transfers,runtime,quantity,runs,median,max,noise\n";
  for (const Row& row : rows_) {
    file << fmt::format("{},{},{},{},{},{},{},{:.6g},{:.6g},{}\n", row.part, row.subject, row.nodes,
                        row.transfers, row.runtime, row.quantity, row.runs, row.median, row.max,
                        row.noise ? fmt::format("{:.4f}", *row.noise) : "");
  }
  file.close();
  if (!file) throw SystemError(path + ": cannot be written");
}

void print_table(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> width;
  for (const auto& line : lines) {
    width.resize(std::max(width.size(), line.size()), 0);
    for (std::size_t c = 0; c < line.size(); ++c) width[c] = std::max(width[c], line[c].size());
  }
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t c = 0; c < line.size(); ++c) {
      text += c == 0 ? fmt::format("{:<{}}", line[c], width[c])
                     : fmt::format("  {:>{}}", line[c], width[c]);
    }
    std::puts(text.c_str());
  }
  std::fflush(stdout);
}

}  // namespace doppler::bench
