// dopp report, whatif, diff and explain
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class Inspect : public ::testing::Test {
 protected:
  void SetUp() override {
    // a(1) feeds b(1) and c(1); a transfer takes 5.
    files_.write("fan.json", R"({"format": "doppler.graph", "version": 1, "time_unit": "tick",
      "tensors": [{"name": "x", "transfer_time": 5, "bytes": 8}],
      "nodes": [{"name": "a", "time": 1, "inputs": [], "outputs": ["x"]},
                {"name": "b", "time": 1, "inputs": ["x"], "outputs": []},
                {"name": "c", "time": 1, "inputs": ["x"], "outputs": []}]})");
    // Split: c runs from 6 to 7. Together: 3.
    write_placement("split.json", "d0", "d0", "d1");
    write_placement("together.json", "d0", "d0", "d0");
  }

  void write_placement(const std::string& name, const std::string& a, const std::string& b,
                       const std::string& c) {
    files_.write(name, R"({"format": "doppler.placement", "version": 1, "graph": "fan.json",
      "devices": "uniform:2", "method": "hand", "assignment": {"a": ")" +
                           a + R"(", "b": ")" + b + R"(", "c": ")" + c + R"("}})");
  }

  Workspace files_;
};

// Reading it would wait for ever.
TEST_F(Inspect, RefusesAPlacementThatNamesAPipe) {
  ASSERT_EQ(::mkfifo(files_.path("pipe.json").c_str(), 0600), 0);
  for (const std::string keys : {R"("graph": "pipe.json", "devices": "uniform:2")",
                                 R"("graph": "fan.json", "devices": "./pipe.json")",
                                 R"("graph": "/dev/zero", "devices": "uniform:2")"}) {
    files_.write("p.json", R"({"format": "doppler.placement", "version": 1, )" + keys +
                               R"(, "assignment": {"a": "d0", "b": "d0", "c": "d0"}})");
    const Outcome done = files_.dopp("report p.json -o report.html");
    EXPECT_EQ(done.exit_code, 2) << keys;
    EXPECT_THAT(done.err, HasSubstr("which is no regular file")) << keys;
  }
}

// Names of files may have any bytes, and JSON only text.
TEST_F(Inspect, APathThatIsNotUtf8ComesBackFromAPlacement) {
  files_.write("g\xff\xe9.json", files_.read("fan.json"));
  files_.write("t\xfe.json", files_.dopp("devices show uniform:2 --json").out);
  const Outcome placed =
      files_.dopp("place g\xff\xe9.json --devices ./t\xfe.json --method heft -o p.json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  const Outcome done = files_.dopp("report p.json -o report.html");
  EXPECT_EQ(done.exit_code, 0) << done.err;
}

TEST_F(Inspect, ReportIsOneFile) {
  const Outcome done = files_.dopp("report split.json together.json -o report.html");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("wrote report.html"));
  const std::string html = files_.read("report.html");
  EXPECT_THAT(html, HasSubstr("<!doctype html>"));
  EXPECT_THAT(html, HasSubstr("fan.json on uniform:2"));
  EXPECT_THAT(html, HasSubstr("The critical chain is"));
  // Nothing is fetched from anywhere.
  EXPECT_THAT(html, Not(HasSubstr("src=\"")));
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  const Outcome json = files_.dopp("report split.json together.json -o report.html --json");
  EXPECT_THAT(json_keys(json.out), ElementsAre("output", "bytes", "placements", "trainings"));
  EXPECT_EQ(json_number(json.out, {"bytes"}), static_cast<double>(html.size()));
}

TEST_F(Inspect, ReportFindsGraphsBesideThePlacement) {
  std::filesystem::create_directory(files_.root() / "elsewhere");
  const Outcome done = dopp("report " + files_.path("split.json") + " -o -",
                            {.directory = files_.path("elsewhere")});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("</html>"));
}

TEST_F(Inspect, ReportShowsTrainings) {
  ASSERT_EQ(files_
                .dopp("train fan.json --devices uniform:2 --stages sim --episodes 64"
                      " --batch 16 -o run")
                .exit_code,
            0);
  const Outcome done = files_.dopp("report run split.json -o report.html --json");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const std::string html = files_.read("report.html");
  EXPECT_THAT(html, HasSubstr("\"stages\": ["));
  EXPECT_THAT(html, HasSubstr("Best of fan.json on uniform:2: 3."));
}

TEST_F(Inspect, ReportRefusesWhatItCannotShow) {
  const std::vector<std::string> before = files_.files();
  const auto error = [&](const std::string& line) {
    const Outcome refused = files_.dopp(line);
    EXPECT_EQ(refused.exit_code, 2) << line << "\n" << refused.err;
    EXPECT_EQ(line_count(refused.err), 1u) << refused.err;
    return refused.err;
  };
  EXPECT_THAT(error("report missing.json -o r.html"), HasSubstr("missing.json"));
  EXPECT_THAT(error("report fan.json -o r.html"), HasSubstr("doppler.placement"));
  EXPECT_THAT(error("report split.json"), HasSubstr("--output is required"));
  EXPECT_THAT(error("report split.json -o split.json"), HasSubstr("would be replaced"));
  EXPECT_THAT(error("report . -o r.html"), HasSubstr("no training in this folder"));
  EXPECT_EQ(files_.files(), before);
}

// The split placement takes 7 on two devices; without d1 all is on d0, 3.
TEST_F(Inspect, WhatIf) {
  const Outcome done = files_.dopp("whatif fan.json split.json --lose d1 --evaluations 100 --json");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(json_keys(done.out), IsSupersetOf({"graph", "devices", "time_unit", "cases"}));
  EXPECT_THAT(done.out, HasSubstr("\"change\": \"as it is\", \"kept\": 7, \"moved\": 0, "
                                  "\"replaced\": 3"));
  EXPECT_THAT(done.out, HasSubstr("\"change\": \"d1 lost\", \"kept\": 3, \"moved\": 1, "
                                  "\"replaced\": 3"));
  const Outcome all = files_.dopp("whatif fan.json split.json --evaluations 100");
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("one more d0"));
  EXPECT_THAT(all.out, HasSubstr("d0 lost"));
  EXPECT_THAT(all.out, HasSubstr("half the memory: the memory of these devices has no limit"));
  EXPECT_THAT(all.out, HasSubstr("channels have no speed"));
}

// What is demanded holds for every machine: c stays where it must be, or there is no answer.
TEST_F(Inspect, WhatIfObeysConstraints) {
  const Outcome done = files_.dopp(
      "whatif fan.json split.json --pin a=d0 --pin c=d1 --add d0 --lose d1 --evaluations 100 "
      "--json");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("\"kept\": 7, \"moved\": 0, \"replaced\": 7"));
  EXPECT_THAT(done.out, Not(HasSubstr("\"replaced\": 3")));
  EXPECT_THAT(done.out, HasSubstr("\"change\": \"d1 lost\", \"kept\": null"));
}

// A placement remembers what was demanded of it. fan.json is fastest on one device, which the pin
// rules out; without it the same command answers 3 (WhatIf above).
TEST_F(Inspect, PlacementsKeepTheirConstraints) {
  files_.write("more.json", R"({"format": "doppler.constraints", "version": 1,
                               "pin": [{"nodes": "c", "devices": "d1"}]})");
  const Outcome placed = files_.dopp(
      "place fan.json --devices uniform:2 --method exact --constraints more.json --pin a=d0 "
      "--memory d*=1GB -o pinned.json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  const std::string file = files_.read("pinned.json");
  EXPECT_THAT(file, HasSubstr(R"("memory": {"d*": 1000000000})"));
  const Outcome what_if =
      files_.dopp("whatif fan.json pinned.json --lose d1 --evaluations 100 --json");
  ASSERT_EQ(what_if.exit_code, 0) << what_if.err;
  EXPECT_THAT(what_if.out, HasSubstr("\"kept\": 7, \"moved\": 0, \"replaced\": 7"));
  EXPECT_THAT(what_if.out, HasSubstr("\"change\": \"d1 lost\", \"kept\": null"));
  const Outcome explained = files_.dopp("explain fan.json pinned.json c");
  ASSERT_EQ(explained.exit_code, 0) << explained.err;
  const Outcome free = files_.dopp("explain fan.json split.json c");
  EXPECT_NE(explained.out, free.out);
  const Outcome limited = files_.dopp("explain fan.json pinned.json c --memory d*=1");
  EXPECT_EQ(limited.exit_code, 0) << limited.err;
  EXPECT_THAT(limited.err, HasSubstr("the placement does not fit in memory: d0 needs 8 B"));
  // A comparison asks only what each placement gives.
  const Outcome diff = files_.dopp("diff pinned.json together.json");
  EXPECT_EQ(diff.exit_code, 0) << diff.err;
  EXPECT_THAT(diff.out, HasSubstr("7.000 tick -> 3.000 tick"));
  // On other devices their names may mean something else.
  const Outcome elsewhere =
      files_.dopp("whatif fan.json pinned.json --devices uniform:3 --evaluations 100");
  EXPECT_EQ(elsewhere.exit_code, 0) << elsewhere.err;
  EXPECT_THAT(elsewhere.err, HasSubstr("constraints of the placement are left out"));
}

// The same machine by another name is the same.
TEST_F(Inspect, ConstraintsHoldOnTheSameMachine) {
  files_.write("machine.json", files_.dopp("devices show 2xA100 --json").out);
  files_.dopp("graph generate random --family fft --nodes 9 -o g.json");
  const Outcome placed =
      files_.dopp("place g.json --devices 2xA100 --method heft --pin *=gpu1 -o p.json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  const Outcome same =
      files_.dopp("whatif g.json p.json --evaluations 50 --devices ./machine.json");
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.err, Not(HasSubstr("left out")));
  EXPECT_THAT(files_.dopp("whatif g.json p.json --evaluations 50 --devices 2xV100").err,
              HasSubstr("left out"));
}

TEST_F(Inspect, WhatIfRefusals) {
  Outcome refused = files_.dopp("whatif fan.json split.json --lose d9");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no device 'd9'; the closest: d0, d1"));
  refused = files_.dopp("whatif fan.json split.json --slow d0");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("CHANNEL=X"));
  refused = files_.dopp("whatif fan.json split.json --slow d0.out=1e300");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("number from 1e-06 to 1000000"));
}

TEST_F(Inspect, Diff) {
  const Outcome done = files_.dopp("diff split.json together.json");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("makespan   7.000 tick -> 3.000 tick (-57.1 %)"));
  EXPECT_THAT(done.out, HasSubstr("moved      1 of 3 nodes"));
  const Outcome json = files_.dopp("diff split.json together.json --json");
  EXPECT_EQ(json_number(json.out, {"before", "makespan"}), 7.0);
  EXPECT_EQ(json_number(json.out, {"after", "makespan"}), 3.0);
  EXPECT_EQ(json_number(json.out, {"moved_nodes"}), 1.0);
  EXPECT_THAT(json.out, HasSubstr("\"alone\": 3, \"without\": 7"));
}

TEST_F(Inspect, DiffOfOtherDevices) {
  const Outcome refused = files_.dopp("diff split.json together.json --devices uniform:1");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("uniform:1 has no device 'd1'"));
}

TEST_F(Inspect, Explain) {
  const Outcome done = files_.dopp("explain fan.json split.json c");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("c (op) runs on d1 from 6.000 tick to 7.000 tick"));
  EXPECT_THAT(done.out, HasSubstr("d0 would be better: the run would take 3.000 tick"));
  const Outcome json = files_.dopp("explain fan.json split.json c --json");
  EXPECT_EQ(json_number(json.out, {"ready"}), 6.0);
  EXPECT_THAT(json_keys(json.out), IsSupersetOf({"node", "device", "start", "end", "critical",
                                                 "inputs", "alternatives"}));
  const Outcome unknown = files_.dopp("explain fan.json split.json d");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("the graph has no node 'd'; the closest: a, b, c"));
}

}  // namespace
}  // namespace doppler::golden
