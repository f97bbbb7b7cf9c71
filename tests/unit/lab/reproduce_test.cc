#include "lab/reproduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>

#include "doppler/api/doppler.h"
#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "support/errors.h"
#include "support/shared_graphs.h"

namespace doppler::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Everything that is not measured with a clock.
const std::vector<std::string> kDeterministic{"comparison",  "modes",          "policies",
                                              "stages",      "graph-transfer", "machine-transfer",
                                              "assignments", "utilisation",    "learning"};

class Reproduction : public ::testing::Test {
 protected:
  Reproduction() {
    std::string name = (std::filesystem::temp_directory_path() / "reproduction.XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~Reproduction() override { std::filesystem::remove_all(root_); }

  ReproduceSettings settings(const std::string& folder, std::vector<std::string> only) const {
    return {.scale = Scale::tiny(),
            .folder = root_ + "/" + folder,
            .only = std::move(only),
            .version = "test"};
  }
  // By name, without the folder.
  std::map<std::string, std::string> files(const std::string& folder) const {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(root_ + "/" + folder)) {
      found[entry.path().filename().string()] = read_file(entry.path().string());
    }
    return found;
  }

  // The page of what is there already, written beside the folder.
  void expect_good_page(const std::string& folder) const {
    ReproduceSettings given = settings(folder, kDeterministic);
    given.page = root_ + "/page.md";
    const ReproduceReport report = reproduce(given, methods_);
    EXPECT_EQ(report.before, report.total);
    std::string page = read_file(given.page);
    std::replace(page.begin(), page.end(), '\n', ' ');  // wherever lines end
    EXPECT_THAT(page, HasSubstr("**This is the tiny run**: 2 seeds instead of 5"));
    EXPECT_THAT(page, HasSubstr("Stage III, learning from the engine, is not part of this build"));
    EXPECT_THAT(page, HasSubstr("| | published | 230.4 | 137.1 | 198.0 | 139.0 | 122.5 | 123.4 |"));
    EXPECT_THAT(page, HasSubstr("| absent |"));
    EXPECT_THAT(page, Not(HasSubstr("nan")));
    EXPECT_THAT(page, Not(HasSubstr("Not complete")));
    EXPECT_GE(report.findings.size(), 10u);
    // Files as seen from the page; each is there.
    EXPECT_THAT(page, HasSubstr("](" + folder + "/stages.svg)"));
    const std::string link = "](" + folder + "/";
    for (std::size_t at = page.find(link); at != std::string::npos; at = page.find(link, at + 1)) {
      const std::string file = page.substr(at + 2, page.find(')', at) - at - 2);
      EXPECT_TRUE(std::filesystem::exists(root_ + "/" + file)) << file;
    }
    for (const auto& [name, text] : files(folder)) {
      if (!name.ends_with(".svg")) continue;
      EXPECT_THAT(text, ::testing::StartsWith("<svg ")) << name;
      EXPECT_THAT(text, Not(HasSubstr("nan"))) << name;
      EXPECT_THAT(text, Not(HasSubstr("inf"))) << name;
    }
  }

  std::string root_;
  const place::Registry methods_ = api::default_methods();
};

TEST_F(Reproduction, GoesOnAfterInterruptionsWithTheSameFiles) {
  const ReproduceReport whole = reproduce(settings("whole", kDeterministic), methods_);
  EXPECT_EQ(whole.done, whole.total);
  EXPECT_EQ(whole.before, 0u);
  EXPECT_FALSE(whole.interrupted);

  ReproduceSettings parts = settings("parts", kDeterministic);
  parts.threads = 2;
  std::size_t done = 0;
  int calls = 0;
  while (done < whole.total) {
    ASSERT_LT(++calls, 20);
    std::atomic<bool> interrupt = false;
    std::atomic<int> begun = 0;
    parts.stop = StopToken(&interrupt);
    parts.progress = [&](const std::string&) {
      if (++begun == 40) interrupt = true;
    };
    const ReproduceReport report = reproduce(parts, methods_);
    EXPECT_EQ(report.before, done);
    EXPECT_EQ(report.total, whole.total);
    done = report.done;
    if (!report.interrupted) break;
    // As if a kill had struck in the middle of a line.
    const std::string table = root_ + "/parts/comparison.csv";
    const std::string text = read_file(table);
    if (calls == 1) {
      write_file(table, text.substr(0, text.size() - 3));
      --done;
      EXPECT_THAT(read_file(root_ + "/parts/index.md"), HasSubstr("Not complete"));
    }
  }
  EXPECT_GT(calls, 2);
  EXPECT_EQ(files("parts"), files("whole"));
  expect_good_page("whole");
}

TEST_F(Reproduction, ASecondCallHasNothingToDo) {
  reproduce(settings("out", {"modes"}), methods_);
  const auto before = files("out");
  const ReproduceReport again = reproduce(settings("out", {"modes"}), methods_);
  EXPECT_EQ(again.before, again.total);
  EXPECT_EQ(files("out"), before);
  // Another experiment joins what is there.
  const ReproduceReport more = reproduce(settings("out", {"assignments"}), methods_);
  EXPECT_EQ(more.before, 0u);
  EXPECT_EQ(files("out").count("modes.csv"), 1u);
  EXPECT_EQ(files("out").count("assignments-chainmm.svg"), 1u);
}

// A stage III that does nothing but serve what it is given: the columns are there then.
TEST_F(Reproduction, StageThreeFillsItsColumns) {
  ReproduceSettings given = settings("out", {"comparison", "stages", "learning"});
  std::atomic<int> calls = 0;
  given.online = [&](const OnlineRequest& request) {
    ++calls;
    EXPECT_EQ(request.runs, Scale::tiny().online_runs);
    EXPECT_FALSE(request.truth.op_factors.empty());
    return std::vector<OnlinePoint>{{request.runs / 2, request.first},
                                    {request.runs, request.first}};
  };
  const ReproduceReport report = reproduce(given, methods_);
  // Two seeds, two graphs: on two machines, four sets of stages, and once beside DOPPLER as
  // published.
  EXPECT_EQ(calls, 2 * 2 * 2 + 2 * 2 * 4 + 2 * 2);
  const std::string page = read_file(report.page);
  EXPECT_THAT(page, Not(HasSubstr("absent")));
  EXPECT_THAT(page, HasSubstr("I+II+III"));
  // It is part of what results belong to.
  given.online = {};
  EXPECT_THROW(reproduce(given, methods_), InputError);
}

TEST_F(Reproduction, PublishedGraphFilesJoinTheComparison) {
  ReproduceSettings given = settings("out", {"comparison"});
  const auto file = test::shared_graph("reference/chainmm.txt");
  if (!file) GTEST_SKIP() << "the shared graphs are not here";
  given.graphs_folder = std::filesystem::path(*file).parent_path().string();
  const ReproduceReport report = reproduce(given, methods_);
  EXPECT_EQ(report.done, report.total);
  const std::string page = read_file(report.page);
  EXPECT_THAT(page, HasSubstr("**uniform:4**, simulated"));
  EXPECT_THAT(page, HasSubstr("in the unit of the files"));
  EXPECT_THAT(page, HasSubstr("| uniform:4 | ffnn |"));
}

TEST_F(Reproduction, TimedExperimentsComeToAnEnd) {
  const ReproduceReport report =
      reproduce(settings("out", {"growth", "messages", "fidelity"}), methods_);
  EXPECT_EQ(report.done, report.total);
  const std::string page = read_file(report.page);
  EXPECT_THAT(page, HasSubstr("no two runs give the same"));
  EXPECT_THAT(page, HasSubstr("threads on two cores"));
}

TEST_F(Reproduction, RequestsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(test::error_of<ParameterError>([&] {
                reproduce(settings("out", {"modes", "nonsense"}), methods_);
              }),
              HasSubstr("unknown experiment 'nonsense'; one of: comparison, modes"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/out"));
  ReproduceSettings given = settings("out", {"modes"});
  given.graphs_folder = root_ + "/nowhere";
  EXPECT_THAT(test::error_of<InputError>([&] { reproduce(given, methods_); }),
              HasSubstr("nowhere/chainmm.txt"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/out"));
}

// 9200 episodes on 100 nodes are 2300 on 200; a graph of 10,000 nodes has ten batches of 16.
TEST(Scale, GivesPlacetoTheSameTimeOnEveryGraph) {
  EXPECT_EQ(placeto_episodes_for(100, 9200), 9200u);
  EXPECT_EQ(placeto_episodes_for(200, 9200), 2300u);
  EXPECT_EQ(placeto_episodes_for(10'000, 9200), 160u);
  EXPECT_EQ(placeto_episodes_for(200, 4), 4u);
}

}  // namespace
}  // namespace doppler::lab
