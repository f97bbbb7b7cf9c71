#include "doppler/train/session/service_rows.h"

#include <fmt/format.h>

#include <cmath>

#include "doppler/base/csv_reader.h"
#include "doppler/base/file.h"

namespace doppler::train {

// More than a double counts.
constexpr std::uint64_t kMostRuns = std::uint64_t{1} << 53;

std::string write_service_rows(std::span<const ServiceRow> rows) {
  std::string text = "run,exploratory,time,promotions\n";
  for (const ServiceRow& row : rows) {
    text += fmt::format("{},{},{:.9g},{}\n", row.run, row.exploratory ? 1 : 0, row.time,
                        row.promotions);
  }
  return text;
}

std::vector<ServiceRow> read_service_rows(const std::string& file) {
  const std::string text = read_file(file);
  CsvReader reader(file, text, {"run", "exploratory", "time", "promotions"});
  std::vector<ServiceRow> rows;
  while (reader.next()) {
    const ServiceRow row{.run = reader.number<std::uint64_t>(0),
                         .exploratory = reader.number<int>(1) != 0,
                         .time = reader.number<double>(2),
                         .promotions = reader.number<std::size_t>(3)};
    if (!rows.empty() && row.run <= rows.back().run) reader.fail("the numbers of runs do not rise");
    if (row.run > kMostRuns) reader.fail("no service has so many runs");
    if (!std::isfinite(row.time) || row.time < 0.0) reader.fail("a run takes some time");
    rows.push_back(row);
  }
  return rows;
}

}  // namespace doppler::train
