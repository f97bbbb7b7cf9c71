// The folder of a reproduction: one table for each experiment, to which cells are added as they
// finish, and a file that says what all of them belong to. A kill at any moment loses no more than
// the cells that were running.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "lab/experiment.h"

namespace doppler::lab {

// What results belong to; others cannot be mixed with them.
struct Identity {
  std::string version;  // of the program
  std::string scale;
  std::uint64_t hash = 0;  // of everything that decides results
};

class ResultsFolder {
 public:
  // Makes the folder where there is none. Throws InputError where it holds results of something
  // else or files that are not ours, SystemError where it cannot be made.
  ResultsFolder(std::string path, const Identity& identity);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  // What is there of an experiment; a line that was cut off in the end is dropped. Throws
  // InputError where a table is damaged.
  Results read(const Experiment& experiment, const Columns& columns,
               const std::vector<Cell>& cells) const;
  // Adds one finished cell, from any thread.
  void append(const Experiment& experiment, const Columns& columns, const Cell& cell,
              const Outcome& outcome);
  // The whole table in the order of the cells, so that it does not depend on what finished first.
  void rewrite(const Experiment& experiment, const Results& results,
               const std::vector<Cell>& cells) const;

 private:
  std::string table_path(const Experiment& experiment) const;

  std::string path_;
  std::mutex mutex_;
};

}  // namespace doppler::lab
