// The folder of a reproduction: one table for each experiment, to which cells are added as they
// finish, and a file with the identity of the results. If the program is killed at any moment, only
// the cells that were running are lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "doppler/base/folder_lock.h"
#include "lab/experiment.h"

namespace doppler::lab {

// The identity of results. Results of different identities cannot be mixed.
struct Identity {
  std::string version;  // of the program
  std::string scale;
  std::uint64_t hash = 0;  // of everything that decides results
};

// An open folder. append() may be called from several threads; nothing else.
class ResultsFolder {
 public:
  // Makes the folder if there is none, and keeps other processes out of it. Throws InputError if it
  // holds results of another identity or foreign files, and SystemError if it cannot be made or
  // another process works in it.
  ResultsFolder(std::string path, const Identity& identity);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  // Returns the stored results of an experiment. A line that was cut off at the end is dropped.
  // Throws InputError if the table is damaged.
  Results read(const Experiment& experiment, const Columns& columns,
               const std::vector<Cell>& cells) const;
  // Adds one finished cell to its table. Thread safe. Throws SystemError if that fails.
  void append(const Experiment& experiment, const Columns& columns, const Cell& cell,
              const Outcome& outcome);
  // Writes the whole table in the order of the cells, so that it does not depend on which finished
  // first.
  void rewrite(const Experiment& experiment, const Results& results,
               const std::vector<Cell>& cells) const;

 private:
  std::string table_path(const Experiment& experiment) const;

  std::string path_;
  FolderLock lock_;
  std::mutex mutex_;
};

}  // namespace doppler::lab
