// Runs the dopp command as a user would and keeps what it said.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace doppler::golden {

struct Outcome {
  int exit_code = -1;  // -1 where a signal ended it
  std::string out;
  std::string err;
};

struct RunAs {
  std::string directory = {};          // where to run; empty: here
  double interrupt_after_seconds = 0;  // > 0: send the signal then
  int signal = SIGINT;
  std::vector<int> ignored = {};              // signals that the command is started to ignore
  std::vector<std::string> environment = {};  // "NAME=value", beside what the test itself has
  // > 0: the most that it may have of address space, as after ulimit -v. Sanitizers need more and
  // have no limit.
  std::size_t most_memory_bytes = 0;
};

// `line` is split at spaces; there is no shell, but '' is an empty argument.
Outcome dopp(const std::string& line, const RunAs& how = {});

// A fresh empty directory, removed at the end.
class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::string path(const std::string& name) const { return (root_ / name).string(); }
  const std::filesystem::path& root() const { return root_; }
  void write(const std::string& name, const std::string& content) const;
  std::string read(const std::string& name) const;
  bool has(const std::string& name) const { return std::filesystem::exists(root_ / name); }
  // Names of all files, sorted.
  std::vector<std::string> files() const;
  Outcome dopp(const std::string& line, std::vector<std::string> environment = {}) const {
    return golden::dopp(line, {.directory = root_.string(), .environment = std::move(environment)});
  }

 private:
  std::filesystem::path root_;
};

// A file of our format with these nodes, and what else stands beside them (", "tensors": […]").
std::string graph_of(const std::string& nodes, const std::string& more = "");

// The number of lines; an error must have one.
std::size_t line_count(const std::string& text);

// Keys of the object that `text` is. Fails the test where it is not exactly one JSON object.
std::vector<std::string> json_keys(const std::string& text);
// A number at a path of keys ("makespan", "min"). Fails the test where there is none.
double json_number(const std::string& text, const std::vector<std::string>& path);
// The text without the lines that hold these keys, to compare runs whose wall clock differs.
std::string without_keys(const std::string& text, const std::vector<std::string>& keys);

}  // namespace doppler::golden
