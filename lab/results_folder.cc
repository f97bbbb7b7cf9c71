#include "lab/results_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/base/hash.h"
#include "doppler/base/json_writer.h"

namespace doppler::lab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReproductionFormat = "doppler.reproduction";

std::string identity_json(const Identity& identity) {
  JsonWriter json;
  json.begin_object().field("format", kReproductionFormat).field("version", 2);
  json.field("dopp", identity.version).field("scale", identity.scale);
  json.field("settings", hash_to_string(identity.hash));
  return json.end_object().take();
}

std::string header_of(const Columns& columns) {
  std::string line;
  for (const std::string& key : columns.keys) line += key + ",";
  line += "seed";
  for (const auto* names : {&columns.numbers, &columns.series}) {
    for (const std::string& name : *names) line += "," + name;
  }
  return line + ",checksum\n";
}

// Returns a number in the fewest digits that read back to the same bits; empty if it is absent.
std::string number_field(double value) {
  return value == value ? fmt::format("{}", value) : std::string();
}

// Returns the last field of a line: a hash of those before it and of the table that they are in, so
// that a cell which was edited or moved is not taken for a measured one.
std::string checksum(std::string_view experiment, const Columns& columns, std::string_view line) {
  Hasher hasher;
  hasher.add_bytes(experiment);
  hasher.add_bytes(header_of(columns));
  hasher.add_bytes(line);
  return hash_to_string(hasher.value());
}

std::string line_of(std::string_view experiment, const Columns& columns, const Cell& cell,
                    const Outcome& outcome) {
  std::string line;
  for (const std::string& key : cell.key) line += key + ",";
  line += fmt::format("{}", cell.seed);
  for (const double number : outcome.numbers) line += "," + number_field(number);
  for (const std::vector<double>& series : outcome.series) {
    line += ",";
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (i > 0) line += ' ';
      line += number_field(series[i]);
    }
  }
  return fmt::format("{},{}\n", line, checksum(experiment, columns, line));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

bool parse_field(std::string_view text, double& value) {
  value = kAbsent;
  return text.empty() || (parse_number(text, value) && !std::isnan(value));
}

// Reads a line of the table. Returns false if it does not have these columns or its checksum.
bool parse_line(std::string_view experiment, std::string_view line, const Columns& columns,
                Cell& cell, Outcome& outcome) {
  const std::size_t last = line.rfind(',');
  if (last == std::string_view::npos) return false;
  const std::string_view sum = line.substr(last + 1);
  line = line.substr(0, last);
  if (sum != checksum(experiment, columns, line)) return false;
  const std::vector<std::string_view> fields = split(line, ',');
  if (fields.size() != columns.keys.size() + 1 + columns.numbers.size() + columns.series.size()) {
    return false;
  }
  auto field = fields.begin();
  for (std::size_t i = 0; i < columns.keys.size(); ++i) cell.key.emplace_back(*field++);
  if (!parse_number(*field++, cell.seed)) return false;
  for (std::size_t i = 0; i < columns.numbers.size(); ++i) {
    if (!parse_field(*field++, outcome.numbers.emplace_back())) return false;
  }
  for (std::size_t i = 0; i < columns.series.size(); ++i, ++field) {
    std::vector<double>& series = outcome.series.emplace_back();
    if (field->empty()) continue;
    for (const std::string_view part : split(*field, ' ')) {
      if (!parse_field(part, series.emplace_back())) return false;
    }
  }
  return true;
}

std::string require_no_file(std::string path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error)) {
    throw InputError(fmt::format("{} is a file; give a folder", path));
  }
  return path;
}

}  // namespace

ResultsFolder::ResultsFolder(std::string path, const Identity& identity)
    : path_(require_no_file(std::move(path))), lock_(path_) {
  remove_temporary_files(path_);
  const std::string settings = file("settings.json");
  const std::string wanted = identity_json(identity);
  std::error_code error;
  if (fs::exists(settings, error)) {
    if (read_regular_file(settings) != wanted) {
      throw InputError(fmt::format(
          "{} holds results of other settings or of another version of the program: give "
          "another folder",
          path_));
    }
    return;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, error)) {
    if (entry.path().filename() == FolderLock::kFile) continue;
    throw InputError(
        fmt::format("{} holds files that are not of a reproduction; give another folder", path_));
  }
  write_file_durably(settings, wanted);
}

std::string ResultsFolder::table_path(const Experiment& experiment) const {
  return file(std::string(experiment.name()) + ".csv");
}

Results ResultsFolder::read(const Experiment& experiment, const Columns& columns,
                            const std::vector<Cell>& cells) const {
  Results results(columns);
  const std::string table = table_path(experiment);
  std::error_code error;
  if (!fs::exists(table, error)) return results;
  std::set<std::pair<Key, std::uint64_t>> known;
  for (const Cell& cell : cells) known.emplace(cell.key, cell.seed);
  const std::string text = read_regular_file(table);
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;  // cut off by a kill
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    Cell cell;
    Outcome outcome;
    const bool sound = number == 1 ? std::string(line) + "\n" == header_of(columns)
                                   : parse_line(experiment.name(), line, columns, cell, outcome) &&
                                         known.contains({cell.key, cell.seed});
    if (!sound) {
      throw InputError(
          fmt::format("{}:{}: not a line of this table as it was written; remove the line, or the "
                      "file, to measure anew",
                      table, number));
    }
    if (number > 1) results.add(cell, std::move(outcome));
  }
  return results;
}

void ResultsFolder::append(const Experiment& experiment, const Columns& columns, const Cell& cell,
                           const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  const std::string table = table_path(experiment);
  std::error_code error;
  std::string text;
  if (!fs::exists(table, error)) text = header_of(columns);
  text += line_of(experiment.name(), columns, cell, outcome);
  // The line is written by one call, so that it is there or not, unless the disk is full.
  const int descriptor = open(table.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  const bool written = descriptor >= 0 && write_all(descriptor, text);
  const int reason = errno;
  if (descriptor >= 0) close(descriptor);
  if (!written) {
    throw SystemError(fmt::format("cannot write {}: {}", table, std::strerror(reason)));
  }
}

void ResultsFolder::rewrite(const Experiment& experiment, const Results& results,
                            const std::vector<Cell>& cells) const {
  std::string text = header_of(results.columns());
  for (const Cell& cell : cells) {
    if (const Outcome* outcome = results.find(cell.key, cell.seed)) {
      text += line_of(experiment.name(), results.columns(), cell, *outcome);
    }
  }
  write_file(table_path(experiment), text);
}

}  // namespace doppler::lab
