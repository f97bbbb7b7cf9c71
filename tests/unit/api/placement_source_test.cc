#include "doppler/api/placement_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "doppler/base/file.h"
#include "doppler/formats/formats.h"
#include "support/errors.h"
#include "support/graphs.h"

namespace doppler::api {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Part = MissingPartError::Part;

// A folder with a graph of two nodes, a -> b.
class PlacementSourceTest : public testing::Test {
 protected:
  PlacementSourceTest() {
    std::string name = (std::filesystem::temp_directory_path() / "placements.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    const graph::Graph graph = test::simple_graph({{"a", 1.0}, {"b", 2.0}}, {{"a", "b"}}, 0.5);
    write_file(path("graph.json"), formats::format_by_name("json").write(graph).text);
  }
  ~PlacementSourceTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  // Writes a placement of both nodes on the first of two devices, with this origin but for what the
  // problem says itself.
  std::string write_placement(const std::string& name, const ProblemSource& source,
                              const std::string& graph, const std::string& devices) const {
    const LoadedProblem loaded = load_problem(source);
    schedule::PlacementFile file{
        .origin = origin_of(*loaded.problem, source),
        .placement = schedule::with_b_levels(*loaded.problem, {DeviceId(0), DeviceId(0)})};
    file.origin.graph = graph;
    file.origin.devices = devices;
    write_file(path(name), schedule::write_placement_json(*loaded.problem, file));
    return path(name);
  }
  std::string write_placement(const std::string& name, const ProblemSource& source) const {
    return write_placement(name, source, source.graph, source.devices);
  }

  ProblemSource on_two_devices() const {
    return {.graph = path("graph.json"), .devices = "uniform:2"};
  }
  // The same with node b kept away from the second device.
  ProblemSource with_rule() const {
    ProblemSource source = on_two_devices();
    source.rules.forbids.push_back({"b", "d1"});
    return source;
  }

  std::string folder_;
  std::vector<std::string> warnings_;
};

TEST_F(PlacementSourceTest, TakesGraphAndDevicesFromTheFile) {
  const std::string file = write_placement("placement.json", on_two_devices());
  const SourcedPlacement sourced = PlacementSource({}).read(file, warnings_);
  EXPECT_EQ(sourced.graph_path, path("graph.json"));
  EXPECT_EQ(sourced.devices, "uniform:2");
  EXPECT_EQ(sourced.problem->device_count(), 2U);
  EXPECT_THAT(sourced.placement.device, ElementsAre(DeviceId(0), DeviceId(0)));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(PlacementSourceTest, TheCallerMayNameOtherDevices) {
  const std::string file = write_placement("placement.json", on_two_devices());
  const SourcedPlacement sourced =
      PlacementSource({.graph = {}, .devices = "uniform:3"}).read(file, warnings_);
  EXPECT_EQ(sourced.problem->device_count(), 3U);
  EXPECT_FALSE(warnings_.empty());
}

TEST_F(PlacementSourceTest, FindsAGraphThatMovedWithThePlacement) {
  const std::string file =
      write_placement("placement.json", on_two_devices(), "elsewhere/graph.json", "uniform:2");
  EXPECT_EQ(PlacementSource({}).read(file, warnings_).graph_path, path("graph.json"));
}

TEST_F(PlacementSourceTest, SaysWhichGraphIsNotThere) {
  const std::string file =
      write_placement("placement.json", on_two_devices(), "gone.json", "uniform:2");
  EXPECT_THAT(error_of([&] { PlacementSource({}).read(file, warnings_); }),
              HasSubstr("names the graph gone.json, which is not there"));
}

TEST_F(PlacementSourceTest, SaysWhatIsMissing) {
  const auto missing = [&](const std::string& file) {
    try {
      PlacementSource({}).read(file, warnings_);
    } catch (const MissingPartError& error) {
      EXPECT_THAT(error.what(), HasSubstr(file));
      EXPECT_THAT(error.what(), Not(HasSubstr("--")));
      return error.part;
    }
    throw InternalError("nothing was missing");
  };
  const ProblemSource source = on_two_devices();
  EXPECT_EQ(missing(write_placement("no_graph.json", source, "", "uniform:2")), Part::kGraph);
  EXPECT_EQ(missing(write_placement("no_devices.json", source, source.graph, "")), Part::kDevices);
}

TEST_F(PlacementSourceTest, LoadsASharedProblemOnce) {
  const std::string first = write_placement("first.json", on_two_devices());
  const std::string second = write_placement("second.json", on_two_devices());
  PlacementSource source({});
  const auto problem = source.read(first, warnings_).problem;
  EXPECT_EQ(source.read(second, warnings_).problem, problem);
}

TEST_F(PlacementSourceTest, ConstraintsOfTheFileHoldOnItsDevicesOnly) {
  const std::string file = write_placement("placement.json", with_rule());
  const SourcedPlacement own = PlacementSource({}).read(file, warnings_);
  EXPECT_FALSE(own.demanded.forbids.empty());
  EXPECT_THAT(warnings_, IsEmpty());

  const SourcedPlacement other =
      PlacementSource({.graph = {}, .devices = "uniform:3"}).read(file, warnings_);
  EXPECT_TRUE(other.demanded.forbids.empty());
  EXPECT_THAT(warnings_,
              testing::Contains("the constraints of the placement are left out on other devices"));
}

TEST_F(PlacementSourceTest, ConstraintsOfTheFileMayBeIgnored) {
  const std::string file = write_placement("placement.json", with_rule());
  const SourcedPlacement sourced =
      PlacementSource({}, PlacementSource::FileConstraints::kIgnored).read(file, warnings_);
  EXPECT_TRUE(sourced.demanded.forbids.empty());
}

TEST_F(PlacementSourceTest, NamesTheFileThatBreaksAConstraint) {
  const std::string file = write_placement("placement.json", on_two_devices());
  ProblemSource source;
  source.rules.forbids.push_back({"b", "d0"});
  EXPECT_THAT(error_of<InfeasibleError>([&] { PlacementSource(source).read(file, warnings_); }),
              HasSubstr("placement.json: "));
}

TEST_F(PlacementSourceTest, APlacementOfAnotherGraphIsRefusedWhereItMustBeTheSame) {
  const std::string file = write_placement("placement.json", on_two_devices());
  const auto other = test::uniform_problem(
      test::simple_graph({{"a", 3.0}, {"b", 2.0}}, {{"a", "b"}}, 0.5), 2, cost::LinkMode::kFree);
  read_placement(file, *other, warnings_);
  EXPECT_FALSE(warnings_.empty());
  EXPECT_THAT(error_of([&] { read_placement(file, *other, warnings_, true); }),
              HasSubstr("made for another graph"));
}

}  // namespace
}  // namespace doppler::api
