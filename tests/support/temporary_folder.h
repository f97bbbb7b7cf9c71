// A folder for the files of a test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "doppler/base/error.h"

namespace doppler::test {

// A fresh empty folder, which the destructor removes with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "doppler-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw SystemError("cannot make a temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace doppler::test
