// A lock on a folder of results, so that two processes do not work in it at once. The kernel drops
// it when the process ends, however that happens.
#pragma once

#include <string>
#include <vector>

namespace doppler {

// Holds the lock of a folder while it lives: the file .lock in it, which names the process. Not
// thread safe. On file systems without locks it keeps nobody out.
class FolderLock {
 public:
  // The name of the file.
  static constexpr const char* kFile = ".lock";

  // Makes the folder if it is missing. Throws SystemError if another lock of the folder lives, in
  // this process or another one, or if the folder cannot be made or written.
  explicit FolderLock(std::string folder);
  // Removes the file, and folders that the constructor made if nothing else is in them.
  ~FolderLock();
  // Returns whether the last process that held the lock was killed while it did.
  bool was_left_by_killed() const { return was_left_by_killed_; }

  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  void make_folder();
  void remove_made_folders() noexcept;
  void lock_file();

  std::string folder_;
  std::vector<std::string> made_;  // the outermost first
  int file_ = -1;
  bool was_left_by_killed_ = false;
};

}  // namespace doppler
