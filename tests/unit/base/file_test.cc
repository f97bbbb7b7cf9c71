#include "doppler/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "doppler/base/error.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace doppler {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Files : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return root_ + "/" + name; }
  static mode_t mode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  const test::TemporaryFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(Files, WritesAndReplacesAndLeavesNothingElse) {
  write_file(path("a"), "one");
  write_file_durably(path("a"), "two");
  EXPECT_EQ(read_file(path("a")), "two");
  EXPECT_THAT(names(), ::testing::ElementsAre("a"));
}

TEST_F(Files, KeepsTheModeOfWhatItReplaces) {
  for (const mode_t mode : {0600, 0644, 0755}) {
    write_file(path("a"), "one");
    ASSERT_EQ(::chmod(path("a").c_str(), mode), 0);
    write_file(path("a"), "two");
    EXPECT_EQ(mode_of(path("a")), mode);
  }
}

TEST_F(Files, GivesANewFileTheModeThatTheMaskAllows) {
  const mode_t before = ::umask(027);
  write_file(path("a"), "one");
  ::umask(before);
  EXPECT_EQ(mode_of(path("a")), 0640u);
}

TEST_F(Files, ReplacesWhatALinkLeadsTo) {
  fs::create_directory(path("deep"));
  write_file(path("deep/target"), "one");
  fs::create_symlink("deep/target", path("link"));
  fs::create_symlink("link", path("link2"));
  write_file(path("link2"), "two");
  EXPECT_TRUE(fs::is_symlink(path("link2")) && fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("deep/target")), "two");
  // One that leads to nothing yet.
  fs::create_symlink("deep/new", path("dangling"));
  write_file(path("dangling"), "three");
  EXPECT_EQ(read_file(path("deep/new")), "three");
  fs::create_symlink("round", path("round"));
  EXPECT_THAT(test::error_of<SystemError>([&] { write_file(path("round"), ""); }),
              HasSubstr("symbolic links"));
}

TEST_F(Files, RefusesAFileThatIsReadOnly) {
  write_file(path("a"), "one");
  ASSERT_EQ(::chmod(path("a").c_str(), 0444), 0);
  for (const auto& call : {+[](const std::string& p) { write_file(p, "two"); },
                           +[](const std::string& p) { check_writable(p); }}) {
    EXPECT_THAT(test::error_of<SystemError>([&] { call(path("a")); }), HasSubstr("read-only"));
  }
  EXPECT_EQ(read_file(path("a")), "one");
}

// Nothing can be planted under a name that nobody can foresee.
TEST_F(Files, WritesUnderANewNameEachTime) {
  std::atomic<bool> done = false;
  std::atomic<std::size_t> count = 0;  // of `seen`
  std::set<std::string> seen;
  std::thread watcher([&] {
    while (!done) {
      for (const std::string& name : names()) seen.insert(name);
      count = seen.size();
    }
  });
  // Until the watcher saw two names beside the file's own, which takes it long on a busy machine.
  const std::string content(1'000'000, 'x');
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (count < 3 && std::chrono::steady_clock::now() < enough) write_file(path("a"), content);
  done = true;
  watcher.join();
  seen.erase("a");
  EXPECT_GT(seen.size(), 1u);
  EXPECT_THAT(seen, ::testing::Each(::testing::MatchesRegex("\\.dopp-[0-9a-f]+\\.tmp")));
}

TEST_F(Files, RefusesALinkThatAnotherUserLeftInASharedFolder) {
  write_file(path("victim"), "safe");
  fs::create_symlink("victim", path("a"));
  ASSERT_EQ(::chmod(root_.c_str(), 01777), 0);
  write_file(path("a"), "own");  // one's own link is followed
  // Only root can try.
  constexpr uid_t kOther = 12345;
  if (::lchown(path("a").c_str(), kOther, kOther) != 0) return;
  EXPECT_THROW(write_file(path("a"), "taken"), SystemError);
  EXPECT_EQ(read_file(path("victim")), "own");
}

TEST_F(Files, WritesTheLongestName) {
  const std::string name(255, 'n');
  write_file(path(name), "one");
  EXPECT_EQ(read_file(path(name)), "one");
}

TEST_F(Files, WritesToDevicesAndPipesThemselves) {
  write_file("/dev/null", "one");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_file(path("pipe")); });
  write_file(path("pipe"), "through");
  reader.join();
  EXPECT_EQ(got, "through");
}

// Opening a pipe that nobody writes to would wait for ever.
TEST_F(Files, ReadsOnlyRegularFilesWhereAsked) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  write_file(path("file"), "content");
  EXPECT_EQ(read_regular_file(path("file")), "content");
  EXPECT_THROW(read_regular_file(path("pipe")), InputError);
  EXPECT_THROW(read_regular_file("/dev/zero"), InputError);
}

// As a shell has it for -o /dev/stdout >> log.
TEST_F(Files, WritesBehindWhatADescriptorHas) {
  const int file = ::open(path("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(file, "before ", 7), 7);
  const std::string descriptor = "/dev/fd/" + std::to_string(file);
  fs::create_symlink(descriptor, path("link"));
  for (const std::string& name : {descriptor, "/dev//fd/" + std::to_string(file), path("link")}) {
    write_file(name, "written ");
  }
  ASSERT_EQ(::write(file, "after", 5), 5);
  ::close(file);
  EXPECT_EQ(read_file(path("log")), "before written written written after");
}

TEST_F(Files, WritersOfOneFileNeverTearIt) {
  const std::vector<std::string> contents{std::string(200'000, 'a'), std::string(100'000, 'b')};
  write_file(path("a"), contents[0]);
  std::atomic<bool> done = false;
  std::size_t torn = 0, reads = 0;
  std::thread reader([&] {
    while (!done || reads == 0) {
      const std::string found = read_file(path("a"));
      torn += found != contents[0] && found != contents[1];
      ++reads;
    }
  });
  std::vector<std::thread> writers;
  for (const std::string& content : contents) {
    writers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) write_file(path("a"), content);
    });
  }
  for (std::thread& writer : writers) writer.join();
  done = true;
  reader.join();
  EXPECT_EQ(torn, 0u) << "of " << reads;
  EXPECT_THAT(names(), ::testing::ElementsAre("a"));
}

TEST_F(Files, RefusesToReadWhatIsTooLarge) {
  write_file(path("large"), "");
  // A hole, which takes no room on the disk.
  ASSERT_EQ(::truncate(path("large").c_str(), static_cast<off_t>(kMostReadBytes) + 1), 0);
  EXPECT_THAT(test::error_of<InputError>([&] { read_file(path("large")); }),
              HasSubstr("more than 2 GiB"));
}

TEST_F(Files, SweepsOnlyTemporariesThatNobodyWrites) {
  const std::string left = path(".dopp-0123456789abcdef.tmp");
  const std::string written = path(".dopp-fedcba9876543210.tmp");
  for (const std::string& name : {left, written, path(".dopp-note.tmp"), path("a.tmp")}) {
    write_file(name, "half");
  }
  const int held = ::open(written.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  remove_temporary_files(root_);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(written) && fs::exists(path(".dopp-note.tmp")) &&
              fs::exists(path("a.tmp")));
  ::close(held);
  remove_temporary_files(root_);
  EXPECT_FALSE(fs::exists(written));
  remove_temporary_files(path("nowhere"));
}

}  // namespace
}  // namespace doppler
