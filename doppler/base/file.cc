#include "doppler/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>

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

[[noreturn]] void refuse_writing(const std::string& path, const char* reason) {
  throw SystemError(fmt::format("{}: cannot write: {}", path, reason));
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Where the content of a file goes.
struct Target {
  std::string path;       // behind all links
  bool in_place = false;  // is written to and not replaced
  bool exists = false;
  struct stat info = {};  // if it exists
};

// Returns whether the path leads to what the kernel makes up, in which nothing can be replaced. The
// links of /proc/self/fd, to which /dev/stdout leads, do not even name what they lead to.
bool is_of_kernel(const std::string& path) {
  return path.starts_with("/proc/") ||
         (path.starts_with("/dev/") && !path.starts_with("/dev/shm/"));  // shm holds plain files
}

// Throws SystemError for a link that another user left in a folder in which everybody may write:
// it may have been put there to have another file overwritten.
void refuse_planted(const std::string& path, const std::string& link) {
  struct stat of_link {
  }, of_folder{};
  if (::lstat(link.c_str(), &of_link) != 0 || !S_ISLNK(of_link.st_mode) ||
      ::stat(folder_of(link).c_str(), &of_folder) != 0) {
    return;
  }
  constexpr mode_t kShared = S_ISVTX | S_IWOTH;
  if ((of_folder.st_mode & kShared) == kShared && of_link.st_uid != ::geteuid() &&
      of_link.st_uid != of_folder.st_uid) {
    refuse_writing(path, "is a link that another user left in a shared folder");
  }
}

// Follows links. Throws SystemError for a folder, for a file that is read-only, and for links that
// cannot be followed.
Target find_target(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  // "/dev//stdout" is "/dev/stdout"; ".." is left alone, which may lead through links.
  const bool plain = path.find("..") == std::string::npos;
  Target target{.path = plain ? std::filesystem::path(path).lexically_normal().string() : path};
  target.exists = ::stat(path.c_str(), &target.info) == 0;
  if (!target.exists && errno != ENOENT) refuse_writing(path, std::strerror(errno));
  if (target.exists && S_ISDIR(target.info.st_mode)) refuse_writing(path, "is a directory");
  target.in_place = (target.exists && !S_ISREG(target.info.st_mode)) || is_of_kernel(target.path);
  std::error_code error;
  for (int i = 0; i < kMostLinks && !target.in_place; ++i) {
    const std::filesystem::path link = std::filesystem::read_symlink(target.path, error);
    if (error) break;  // is no link
    refuse_planted(path, target.path);
    target.path = (std::filesystem::path(target.path).parent_path() / link).string();
    target.in_place = is_of_kernel(target.path);
  }
  if (target.exists && !target.in_place) {
    // Whoever may do everything is refused, too: a file was made read-only for a reason.
    if ((target.info.st_mode & 0222) == 0) refuse_writing(path, "is read-only");
    if (::access(target.path.c_str(), W_OK) != 0) refuse_writing(path, std::strerror(errno));
  }
  return target;
}

constexpr std::string_view kTemporaryPrefix = ".dopp-", kTemporarySuffix = ".tmp";
constexpr std::size_t kTemporaryDigits = 16;

// Makes a file that was not there before, whose name nobody can foresee, and sets `name`. Returns a
// negative descriptor on failure; errno then says why.
int make_temporary(const std::string& folder, mode_t mode, std::string& name) {
  constexpr int kAttempts = 16;  // an equal name has a chance of one in 2^64
  for (int i = 0; i < kAttempts; ++i) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) return -1;
    name = fmt::format("{}/{}{:0{}x}{}", folder, kTemporaryPrefix, random, kTemporaryDigits,
                       kTemporarySuffix);
    const int file =
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0) return file;
    // The lock tells remove_temporary_files() that somebody writes the file. It may have been taken
    // for one that was left before it was locked.
    const bool locked = ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    struct stat info {};
    if (locked && ::fstat(file, &info) == 0 && info.st_nlink > 0) return file;
    ::close(file);
  }
  return -1;
}

bool is_temporary(std::string_view name) {
  if (name.size() != kTemporaryPrefix.size() + kTemporaryDigits + kTemporarySuffix.size() ||
      !name.starts_with(kTemporaryPrefix) || !name.ends_with(kTemporarySuffix)) {
    return false;
  }
  return name.substr(kTemporaryPrefix.size(), kTemporaryDigits)
             .find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

enum class Durability : std::uint8_t { kAsTheSystemLikes, kOnDisk };

// Returns the descriptor of this process that a path names; -1 if it names none.
int descriptor_named(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = -1;
    const std::string_view digits = path.substr(folder.size());
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return read.ec == std::errc() && read.ptr == digits.data() + digits.size() ? number : -1;
  }
  return -1;
}

// `path` is the name that errors give.
void write_in_place(const std::string& path, const std::string& target, std::string_view content) {
  // What others write to the descriptor stands before or behind the content, and not on it.
  const int named = descriptor_named(target);
  Descriptor file(named >= 0 ? ::fcntl(named, F_DUPFD_CLOEXEC, 0)
                             : ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0 || !write_all(file.get(), content) || file.close_now() != 0) {
    refuse_writing(path, std::strerror(errno));
  }
}

// Gives a file the owner, the group and the mode of one that it will replace, as far as the system
// permits: only root may give files away. Nobody gets rights that they did not have, not even for a
// moment.
bool take_over(int file, const struct stat& replaced) {
  mode_t mode = replaced.st_mode & 0777;
  const uid_t kSame = static_cast<uid_t>(-1);
  if (::fchown(file, kSame, replaced.st_gid) != 0) {
    // Of the old group everybody is among the others now, and everybody else may be in the new one.
    const mode_t group = mode >> 3 & 07;
    mode = (mode & 0700) | (mode & 07 & group);
  }
  [[maybe_unused]] const int given = ::fchown(file, replaced.st_uid, static_cast<gid_t>(-1));
  if (::fchmod(file, mode) == 0) return true;
  // Some file systems have one mode for all files.
  struct stat info {};
  const int reason = errno;
  const bool same = ::fstat(file, &info) == 0 && (info.st_mode & 0777) == mode;
  errno = reason;
  return same;
}

void write_whole(const std::string& path, std::string_view content, Durability durability) {
  const Target target = find_target(path);
  if (target.in_place) return write_in_place(path, target.path, content);
  const std::string folder = folder_of(target.path);
  std::string temporary;
  // A secret that is replaced is not readable by others for a moment.
  Descriptor file(make_temporary(folder, target.exists ? 0600 : 0666, temporary));
  if (file.get() < 0) refuse_writing(path, std::strerror(errno));
  const auto fail = [&](const char* what) {
    const std::string reason = std::strerror(errno);
    ::unlink(temporary.c_str());
    throw SystemError(fmt::format("{}: cannot {}: {}", path, what, reason));
  };
  if (!write_all(file.get(), content)) fail("write");
  if (target.exists && !take_over(file.get(), target.info)) fail("set the mode of");
  const bool on_disk = durability == Durability::kOnDisk;
  if (on_disk && ::fsync(file.get()) != 0) fail("write");
  const Descriptor lock(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));  // to hold it until the end
  if (file.close_now() != 0) fail("write");
  if (::rename(temporary.c_str(), target.path.c_str()) != 0) fail("rename to it");
  if (!on_disk) return;
  const Descriptor entry(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot do this with a folder, and say EINVAL.
  if (entry.get() >= 0 && ::fsync(entry.get()) != 0 && errno != EINVAL) {
    refuse_writing(path, std::strerror(errno));
  }
}

enum class Kind { kAny, kRegular };

std::string read_whole(const std::string& path, Kind kind) {
  if (path.empty()) throw InputError("the name of the file to read is empty");
  if (path.find('\0') != std::string::npos) {
    throw InputError(fmt::format("{}: a file's name cannot go on behind a zero byte",
                                 std::string(path.c_str())));
  }
  // Opening a pipe waits for its writer, unless it is told not to.
  const int patience = kind == Kind::kRegular ? O_NONBLOCK : 0;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | patience));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) {
    throw InputError(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) throw InputError(fmt::format("{}: is a directory, not a file", path));
  if (kind == Kind::kRegular && !S_ISREG(info.st_mode)) {
    throw InputError(fmt::format("{}: is no regular file", path));
  }
  std::string content;
  constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
  std::size_t used = 0;
  const auto refuse_size = [&] {
    throw InputError(
        fmt::format("{}: has more than {} GiB, the most that is read", path, kMostReadBytes >> 30));
  };
  if (info.st_size > 0 && static_cast<std::uint64_t>(info.st_size) > kMostReadBytes) refuse_size();
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
    // Files without a size, such as a pipe or /dev/zero, may have no end.
    if (used > kMostReadBytes) refuse_size();
  }
  content.resize(used);
  return content;
}

}  // namespace

std::string read_file(const std::string& path) {
  return read_whole(path, Kind::kAny);
}

std::string read_regular_file(const std::string& path) {
  return read_whole(path, Kind::kRegular);
}

void write_file(const std::string& path, std::string_view content) {
  write_whole(path, content, Durability::kAsTheSystemLikes);
}

void write_file_durably(const std::string& path, std::string_view content) {
  write_whole(path, content, Durability::kOnDisk);
}

void remove_temporary_files(const std::string& folder) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    const std::filesystem::path path = entry->path();
    entry.increment(error);
    if (!is_temporary(path.filename().string())) continue;
    // Network file systems lock only what may be written.
    const Descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    // Whoever writes the file holds its lock, which dies with the process.
    if (file.get() >= 0 && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  }
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
  const Target target = find_target(path);
  // Replacing a file takes the right to write to its folder; anything else is written to itself.
  const std::string asked =
      target.in_place ? target.path : folder_of(target.path) + "/.";  // the dot requires a folder
  if (::access(asked.c_str(), W_OK) != 0) refuse_writing(path, std::strerror(errno));
}

std::string file_stem(const std::string& path) {
  std::filesystem::path file(path);
  if (file.extension() == ".gz") file.replace_extension();
  return file.stem().string();
}

}  // namespace doppler
