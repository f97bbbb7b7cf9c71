#include "doppler/base/folder_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace doppler {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FolderLocks : public ::testing::Test {
 protected:
  const test::TemporaryFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(FolderLocks, KeepsASecondOneOutAndNamesTheProcess) {
  std::optional<FolderLock> lock(root_);
  EXPECT_THAT(test::error_of<SystemError>([&] { FolderLock second(root_); }),
              HasSubstr("process " + std::to_string(::getpid()) + " is working in this folder"));
  lock.reset();
  EXPECT_TRUE(fs::is_empty(root_));
  FolderLock again(root_);
  EXPECT_FALSE(again.was_left_by_killed());
}

TEST_F(FolderLocks, MakesFoldersAndRemovesThemIfTheyStayEmpty) {
  const std::string deep = root_ + "/a/b/";
  { FolderLock lock(deep); }
  EXPECT_FALSE(fs::exists(root_ + "/a"));
  {
    FolderLock lock(deep);
    write_file(deep + "result", "1");
  }
  EXPECT_TRUE(fs::exists(deep + "result"));
  { FolderLock lock(deep); }
  EXPECT_TRUE(fs::exists(deep + "result"));
  // A folder that was there before stays, though it be empty.
  fs::create_directory(root_ + "/empty");
  { FolderLock lock(root_ + "/empty"); }
  EXPECT_TRUE(fs::exists(root_ + "/empty"));
}

TEST_F(FolderLocks, DiesWithItsProcess) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FolderLock lock(root_);
    const char byte = 1;
    if (::write(ready[1], &byte, 1) == 1) ::pause();
    ::_exit(0);
  }
  ::close(ready[1]);  // so that a child that fails ends the reading
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT(test::error_of<SystemError>([&] { FolderLock second(root_); }),
              HasSubstr("process " + std::to_string(child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  FolderLock lock(root_);
  EXPECT_TRUE(lock.was_left_by_killed());
}

TEST_F(FolderLocks, RefusesWhatIsNoFolder) {
  write_file(root_ + "/file", "");
  EXPECT_THROW(FolderLock(root_ + "/file"), SystemError);
  EXPECT_THROW(FolderLock(root_ + "/file/below"), SystemError);
  // A link that was planted for the lock is not followed.
  fs::create_symlink("victim", root_ + "/.lock");
  EXPECT_THROW(FolderLock lock(root_), SystemError);
  EXPECT_FALSE(fs::exists(root_ + "/victim"));
}

}  // namespace
}  // namespace doppler
