#include "doppler/base/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/file.h"

namespace doppler {
namespace {

namespace fs = std::filesystem;

// Returns whether the path still leads to the open file, which another process may have removed.
bool is_at(int file, const std::string& path) {
  struct stat opened {
  }, found{};
  return ::fstat(file, &opened) == 0 && ::lstat(path.c_str(), &found) == 0 &&
         opened.st_dev == found.st_dev && opened.st_ino == found.st_ino;
}

// Returns the process that the file names; empty if it names none.
std::string process_named_in(int file) {
  char digits[32];
  const ssize_t got = ::pread(file, digits, sizeof digits, 0);
  const std::string_view text(digits, got > 0 ? static_cast<std::size_t>(got) : 0);
  return std::string(text.substr(0, text.find_first_not_of("0123456789")));
}

}  // namespace

FolderLock::FolderLock(std::string folder) : folder_(std::move(folder)) {
  try {
    make_folder();
    lock_file();
  } catch (...) {
    remove_made_folders();
    throw;
  }
}

FolderLock::~FolderLock() {
  const std::string path = folder_ + "/" + kFile;
  if (is_at(file_, path)) ::unlink(path.c_str());
  ::close(file_);
  remove_made_folders();
}

void FolderLock::make_folder() {
  std::error_code error;
  for (fs::path path = folder_; !path.empty() && !fs::exists(path, error);
       path = path.parent_path()) {
    if (path.has_filename()) made_.push_back(path.string());  // "a/" is the folder "a"
  }
  std::reverse(made_.begin(), made_.end());
  fs::create_directories(folder_, error);
  if (error) throw SystemError(fmt::format("{}: {}", folder_, error.message()));
}

void FolderLock::remove_made_folders() noexcept {
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) ::rmdir(made->c_str());
}

void FolderLock::lock_file() {
  const std::string path = folder_ + "/" + kFile;
  for (;;) {
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file_ < 0) {
      throw SystemError(fmt::format("{}: cannot write: {}", folder_, std::strerror(errno)));
    }
    const bool locked = ::flock(file_, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK) {
      const std::string process = process_named_in(file_);
      ::close(file_);
      throw SystemError(fmt::format("{}: {} is working in this folder", folder_,
                                    process.empty() ? "another process" : "process " + process));
    }
    // Whoever had the lock before may have removed the file in between: such a lock keeps nobody
    // out.
    if (is_at(file_, path)) {
      // Whoever ends in another way than by being killed removes the file.
      was_left_by_killed_ = locked && !process_named_in(file_).empty();
      break;
    }
    ::close(file_);
  }
  // The lock holds without the name, which helps people only: on a full disk it is missing.
  if (::ftruncate(file_, 0) == 0 && write_all(file_, fmt::format("{}\n", ::getpid()))) {
    ::fsync(file_);  // a crash counts as a kill
  }
}

}  // namespace doppler
