// Fuzzes the tables of a reproduction: what is read is written again as it was. An input is a table
// without checksums, which every line gets here.
#include <string>
#include <vector>

#include "doppler/base/file.h"
#include "doppler/base/hash.h"
#include "lab/results_folder.h"
#include "scratch_folder.h"
#include "target.h"

namespace {

using namespace doppler;

class Table final : public lab::Experiment {
 public:
  std::string_view name() const override { return "table"; }
  std::string_view title() const override { return "Table"; }
  lab::Columns columns(const lab::ReproductionContext&) const override { return {}; }
  std::vector<lab::Cell> cells(const lab::ReproductionContext&) const override { return {}; }
  lab::Outcome run(const lab::ReproductionContext&, const lab::Cell&) const override { return {}; }
  lab::Section show(const lab::ReproductionContext&, const lab::Results&) const override {
    return {};
  }
};

const lab::Columns kColumns{.keys = {"graph"}, .numbers = {"x", "y"}, .series = {"s"}};
const std::vector<lab::Cell> kCells = {{{"a"}, 1}, {{"a"}, 2}, {{"b"}, 1}};
constexpr std::string_view kHeader = "graph,seed,x,y,s,checksum\n";

// Returns the table with these lines and the checksums that belong to them.
std::string sealed(std::string_view lines) {
  std::string text(kHeader);
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    Hasher hasher;
    hasher.add_bytes(Table().name());
    hasher.add_bytes(kHeader);
    hasher.add_bytes(line);
    text += std::string(line) + "," + hash_to_string(hasher.value()) + "\n";
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  return text;
}

}  // namespace

void fuzz(std::string_view bytes) {
  static const fuzzing::ScratchFolder scratch;
  static const lab::ResultsFolder folder(scratch.file("results"),
                                         {.version = "1", .scale = "fuzz", .hash = 1});
  const Table table;
  const std::string file = folder.file("table.csv");
  write_file(file, sealed(bytes));
  const lab::Results results = folder.read(table, kColumns, kCells);
  folder.rewrite(table, results, kCells);
  const std::string text = read_file(file);
  folder.rewrite(table, folder.read(table, kColumns, kCells), kCells);
  if (read_file(file) != text) __builtin_trap();
}
