// Every real graph of the formats that are read, where the folder is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/cost/conflict.h"

namespace doppler {
namespace {

std::vector<std::string> files_below(const std::string& folder, const std::string& ending) {
  std::vector<std::string> found;
  const std::filesystem::path root = std::filesystem::path(DOPPLER_SHARED_GRAPHS) / folder;
  if (!std::filesystem::exists(root)) return found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file() && entry.path().string().ends_with(ending)) {
      found.push_back(entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// By list scheduling on a machine of one kind and on one of two, and on the file's own devices.
TEST(SharedGraphs, ArePlaced) {
  std::vector<std::string> files;
  for (const auto& [folder, ending] :
       std::vector<std::pair<std::string, std::string>>{{"dnn-partitioning", ".json"},
                                                        {"pipedream", "graph.txt"},
                                                        {"traces", ".tar.gz"},
                                                        {"dagbench", "graph.json"},
                                                        {"onnx", ".onnx"},
                                                        {"hlo", ".hlo"},
                                                        {"ncnn", ".param"},
                                                        {"reference", ".txt"}}) {
    for (std::string& file : files_below(folder, ending)) files.push_back(std::move(file));
  }
  if (files.empty()) GTEST_SKIP() << "the shared graphs are not here";
  const place::Registry methods = api::default_methods();
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    std::vector<std::string> specs{"4xA100", "2xA100+2xT4"};
    if (formats::load(file).machine) specs.push_back(std::string(api::kDevicesOfFile));
    for (const std::string& devices : specs) {
      SCOPED_TRACE(devices);
      const auto loaded = api::load_problem({.graph = file, .devices = devices});
      if (const std::string proof = cost::memory_conflict(*loaded.problem); !proof.empty()) {
        EXPECT_THROW(methods.find("heft").place(*loaded.problem, {.seed = 1}), InfeasibleError);
        continue;
      }
      const auto result = methods.find("heft").place(*loaded.problem, {.seed = 1});
      EXPECT_NO_THROW(schedule::check_placement(*loaded.problem, result.placement));
    }
  }
}

}  // namespace
}  // namespace doppler
