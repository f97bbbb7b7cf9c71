#include "doppler/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "doppler/base/error.h"

namespace doppler {
namespace {

// A file descriptor that the destructor closes.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close_now(); }

  int get() const { return fd_; }
  int close_now() {
    const int result = fd_ >= 0 ? ::close(fd_) : 0;
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

}  // namespace

std::string read_file(const std::string& path) {
  if (path.empty()) throw InputError("the name of the file to read is empty");
  if (path.find('\0') != std::string::npos) {
    throw InputError(fmt::format("{}: a file's name cannot go on behind a zero byte",
                                 std::string(path.c_str())));
  }
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) {
    throw InputError(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) throw InputError(fmt::format("{}: is a directory, not a file", path));
  std::string content;
  constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
  // Files without a size, such as a pipe or /dev/zero, may have no end.
  constexpr std::size_t kMostStreamed = std::size_t{1} << 30;
  std::size_t used = 0;
  content.resize(info.st_size > 0 ? static_cast<std::size_t>(info.st_size) + 1 : kChunkBytes);
  for (;;) {
    if (used == content.size()) content.resize(content.size() + content.size() / 2 + kChunkBytes);
    const ssize_t got = ::read(file.get(), content.data() + used, content.size() - used);
    if (got < 0) {
      if (errno == EINTR) continue;
      throw InputError(fmt::format("{}: cannot read: {}", path, std::strerror(errno)));
    }
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (!S_ISREG(info.st_mode) && used > kMostStreamed) {
      throw InputError(fmt::format("{}: is no regular file, and gives more than 1 GiB", path));
    }
  }
  content.resize(used);
  return content;
}

void write_file(const std::string& path, std::string_view content) {
  // A device such as /dev/null or a pipe is written to and not replaced.
  struct stat info {};
  const bool in_place = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  if (in_place && S_ISDIR(info.st_mode)) {
    throw SystemError(fmt::format("{}: cannot write: is a directory", path));
  }
  const std::string temporary = in_place ? path : fmt::format("{}.{}.tmp", path, ::getpid());
  const auto fail = [&](const char* what) {
    const std::string reason = std::strerror(errno);
    if (!in_place) ::unlink(temporary.c_str());
    throw SystemError(fmt::format("{}: cannot {}: {}", path, what, reason));
  };
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) fail("write");
  if (!write_all(file.get(), content)) fail("write");
  if (file.close_now() != 0) fail("write");
  if (!in_place && ::rename(temporary.c_str(), path.c_str()) != 0) fail("rename to it");
}

bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void check_writable(const std::string& path) {
  const auto fail = [&](const char* reason) {
    throw SystemError(fmt::format("{}: cannot write: {}", path, reason));
  };
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) fail("is a directory");
  // Replacing a regular file takes the right to write to its folder; anything else is written to
  // itself.
  std::string asked = path;
  if (!exists || S_ISREG(info.st_mode)) {
    asked = std::filesystem::path(path).parent_path().string();
    asked += asked.empty() ? "." : "/.";  // the dot requires that it is a folder
  }
  if (::access(asked.c_str(), W_OK) != 0) fail(std::strerror(errno));
}

std::string file_stem(const std::string& path) {
  std::filesystem::path file(path);
  if (file.extension() == ".gz") file.replace_extension();
  return file.stem().string();
}

}  // namespace doppler
