// dopp place, compare, simulate, devices and methods
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0, width = 0;
  for (const char c : text) {
    if (c == '\n') {
      widest = std::max(widest, width);
      width = 0;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {  // one per UTF-8 character
      ++width;
    }
  }
  return std::max(widest, width);
}

class Place : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(files_.dopp("graph generate random --family layered --nodes 60 -o g.json").exit_code,
              0);
    // a(1) feeds b(1) and c(1); a transfer takes 5: all on one device, 3, is best.
    files_.write("fan.json", R"({"format": "doppler.graph", "version": 1, "time_unit": "tick",
      "tensors": [{"name": "x", "transfer_time": 5}],
      "nodes": [{"name": "a", "time": 1, "inputs": [], "outputs": ["x"]},
                {"name": "b", "time": 1, "inputs": ["x"], "outputs": []},
                {"name": "c", "time": 1, "inputs": ["x"], "outputs": []}]})");
  }
  Workspace files_;
};

TEST_F(Place, JsonHasTheKeysOfTheContract) {
  const Outcome placed = files_.dopp("place g.json --devices 2xA100 --method heft --json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_THAT(json_keys(placed.out),
              IsSupersetOf({"graph", "devices", "method", "seed", "time_unit", "makespan", "robust",
                            "any_order", "bound", "gap", "seconds", "evaluations",
                            "peak_memory_bytes", "bytes_moved", "assignment", "priority"}));
  const double makespan = json_number(placed.out, {"makespan"});
  EXPECT_GE(makespan, json_number(placed.out, {"bound", "value"}));
  EXPECT_DOUBLE_EQ(json_number(placed.out, {"gap"}),
                   makespan / json_number(placed.out, {"bound", "value"}) - 1.0);
  EXPECT_EQ(json_number(placed.out, {"robust", "runs"}), 100);
  EXPECT_EQ(json_number(placed.out, {"any_order", "runs"}), 100);
  EXPECT_GE(json_number(placed.out, {"any_order", "p95"}),
            json_number(placed.out, {"any_order", "mean"}));
}

TEST_F(Place, WordsFitAndEchoWhatWasUnderstood) {
  const Outcome placed = files_.dopp("place g.json --devices uniform:3 --method heft -o p.json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_THAT(placed.out, HasSubstr("60 nodes"));
  EXPECT_THAT(placed.out, HasSubstr("uniform:3"));
  EXPECT_THAT(placed.out, HasSubstr("as given in the graph"));
  EXPECT_THAT(placed.out, HasSubstr("critical chain"));
  EXPECT_THAT(placed.out, HasSubstr("busiest device"));
  EXPECT_LE(widest_line(placed.out), 100u) << placed.out;
}

TEST_F(Place, TheBestOfASmallGraphIsProved) {
  for (const char* method : {"exact", "auto"}) {
    const Outcome placed = files_.dopp(
        std::string("place fan.json --devices uniform:2 --evaluations 5000 --json --method ") +
        method);
    ASSERT_EQ(placed.exit_code, 0) << placed.err;
    EXPECT_EQ(json_number(placed.out, {"makespan"}), 3.0) << method;
    EXPECT_THAT(placed.out, HasSubstr("\"time_unit\": \"tick\""));
    EXPECT_THAT(placed.out, HasSubstr("\"bound\": {\"name\": \"exact\"")) << method;
  }
}

TEST_F(Place, EvaluationsGiveTheSameBitsOnAnyThreads) {
  const std::vector<std::string> clock = {"seconds", "note"};
  for (const std::string method : {"auto", "lns", "anneal"}) {
    const std::string line =
        "place g.json --devices uniform:4 --evaluations 3000 --seed 7 --json --method " + method;
    const Outcome one = files_.dopp(line + " --threads 1 -o one.json");
    const Outcome two = files_.dopp(line + " --threads 2 -o two.json");
    const Outcome again = files_.dopp(line + " --threads 2");
    ASSERT_EQ(one.exit_code, 0) << one.err;
    EXPECT_EQ(without_keys(one.out, clock), without_keys(two.out, clock)) << method;
    EXPECT_EQ(without_keys(two.out, clock), without_keys(again.out, clock)) << method;
    EXPECT_EQ(files_.read("one.json"), files_.read("two.json")) << method;
  }
}

TEST_F(Place, ATimeBudgetPrintsWhatReplaysIt) {
  const std::string line = "place g.json --devices uniform:4 --method lns --seed 2 --json ";
  const Outcome timed = files_.dopp(line + "--budget 0.3");
  ASSERT_EQ(timed.exit_code, 0) << timed.err;
  const auto evaluations = static_cast<std::uint64_t>(json_number(timed.out, {"evaluations"}));
  const Outcome replayed = files_.dopp(line + "--evaluations " + std::to_string(evaluations));
  ASSERT_EQ(replayed.exit_code, 0) << replayed.err;
  const std::vector<std::string> clock = {"seconds", "note"};
  EXPECT_EQ(without_keys(timed.out, clock), without_keys(replayed.out, clock));
}

TEST_F(Place, OtherObjectivesSayWhatTheyCostNominally) {
  for (const std::string objective : {"robust", "any-order"}) {
    const std::string line =
        "place g.json --devices uniform:4 --method lns --evaluations 2000 --objective " + objective;
    const Outcome words = files_.dopp(line);
    ASSERT_EQ(words.exit_code, 0) << words.err;
    EXPECT_THAT(words.out, HasSubstr("nominally"));
    EXPECT_LE(widest_line(words.out), 100u) << words.out;
    EXPECT_GT(json_number(files_.dopp(line + " --json").out, {"nominal_cost", "best_nominal"}),
              0.0);
  }
}

TEST_F(Place, CtrlCEndsTheSamplesOfAPolicy) {
  const Outcome placed = dopp("place " + files_.path("g.json") +
                                  " --devices uniform:4 --method policy --samples 1000000 --json",
                              {.interrupt_after_seconds = 1.0});
  EXPECT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_THAT(placed.out, HasSubstr("\"interrupted\": true"));
}

TEST_F(Place, CtrlCAndTerminationKeepTheBest) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto start = std::chrono::steady_clock::now();
    const std::string output = std::to_string(signal) + ".json";
    const Outcome placed =
        dopp("place " + files_.path("g.json") +
                 " --devices uniform:4 --method lns --budget 300 --json -o " + files_.path(output),
             {.interrupt_after_seconds = 1.0, .signal = signal});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(placed.exit_code, 0) << placed.err;
    EXPECT_THAT(json_keys(placed.out), IsSupersetOf({"makespan", "assignment"}));
    EXPECT_THAT(placed.out, HasSubstr("\"interrupted\": true"));
    EXPECT_TRUE(files_.has(output));
    // Far from the budget; no statement about speed.
    EXPECT_LT(took.count(), 200.0);
  }
}

// Nothing would be lost, and a pipe may never end.
TEST_F(Place, ASignalEndsTheReading) {
  ASSERT_EQ(::mkfifo(files_.path("pipe").c_str(), 0600), 0);
  const Outcome placed = dopp("place " + files_.path("pipe") + " --devices uniform:4",
                              {.interrupt_after_seconds = 0.5, .signal = SIGTERM});
  EXPECT_EQ(placed.exit_code, -1);  // ended by the signal
}

TEST_F(Place, AnInterruptedComparisonSaysSo) {
  const Outcome compared = dopp("compare " + files_.path("g.json") +
                                    " --devices uniform:4 --methods heft,lns,anneal --budget 300",
                                {.interrupt_after_seconds = 1.0, .signal = SIGTERM});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("heft"));
  EXPECT_THAT(compared.out, Not(HasSubstr("anneal")));
  EXPECT_THAT(compared.err, HasSubstr("interrupted: not everything was compared"));
}

// As nohup and shells that start something in the background ask for.
TEST_F(Place, ASignalThatWasIgnoredStaysIgnored) {
  for (const int signal : {SIGINT, SIGHUP}) {
    const Outcome placed = dopp(
        "place " + files_.path("g.json") + " --devices uniform:4 --method lns --budget 2 --json",
        {.interrupt_after_seconds = 0.7, .signal = signal, .ignored = {signal}});
    EXPECT_EQ(placed.exit_code, 0) << placed.err;
    EXPECT_THAT(placed.out, HasSubstr("\"interrupted\": false"));
  }
}

TEST_F(Place, BadOutputLeavesNothingBehind) {
  for (const char* output : {"missing/p.json", "g.json/p.json", "."}) {
    // It shows before anything else, so that no search is lost: the graph does not even exist.
    const Outcome placed =
        files_.dopp(std::string("place none.json --devices uniform:2 --method heft -o ") + output);
    EXPECT_EQ(placed.exit_code, 1);
    EXPECT_EQ(line_count(placed.err), 1u) << placed.err;
    EXPECT_EQ(placed.out, "");
    EXPECT_THAT(files_.files(), ElementsAre("fan.json", "g.json"));
  }
}

// A tenth more than the least that any method is known to need: moving what is largest at the peak
// to where there is room, and single moves for the better, end short of it.
TEST_F(Place, EveryMethodFindsAPlacementWhereMemoryIsTight) {
  ASSERT_EQ(files_
                .dopp("graph generate llama-layer --seq 512 --hidden 1024 --heads 8 --ffn 2752 "
                      "--vocab 8000 --shards 4 --shard seq=4,heads=4,ffn=4,vocab=4 -o tight.json")
                .exit_code,
            0);
  std::string text = files_.read("tight.json");
  const std::string capacity = std::to_string(77 << 19);  // 38.5 MiB
  text.insert(text.rfind('}'), R"(, "constraints": {"memory": {"gpu0": )" + capacity +
                                   R"(, "gpu1": )" + capacity + R"(, "gpu2": )" + capacity +
                                   R"(, "gpu3": )" + capacity + "}}");
  files_.write("tight.json", text);
  for (const std::string method : {"heft", "critical-path", "metis", "policy --samples 4"}) {
    const Outcome placed =
        files_.dopp("place tight.json --devices 4xP100 --json --method " + method);
    EXPECT_EQ(placed.exit_code, 0) << method << ": " << placed.err;
  }
}

// Every node on one of two devices of 1 byte each; a's output has 8.
TEST_F(Place, WhatDoesNotFitFailsWithOne) {
  files_.write("big.json", R"({"format": "doppler.graph", "version": 1,
      "tensors": [{"name": "x", "bytes": 8, "transfer_time": 1}],
      "nodes": [{"name": "a", "time": 1, "inputs": [], "outputs": ["x"]},
                {"name": "b", "time": 1, "inputs": ["x"], "outputs": []}],
      "constraints": {"memory": {"d0": 1, "d1": 1}}})");
  const Outcome placed = files_.dopp("place big.json --devices uniform:2 --method heft");
  EXPECT_EQ(placed.exit_code, 1) << placed.err << placed.out;
  EXPECT_EQ(line_count(placed.err), 1u) << placed.err;

  // The failures are results of a comparison.
  const Outcome compared =
      files_.dopp("compare big.json --devices uniform:2 --methods heft,single --json");
  EXPECT_EQ(compared.exit_code, 1);
  EXPECT_EQ(line_count(compared.err), 1u) << compared.err;
  EXPECT_THAT(json_keys(compared.out), ElementsAre("results"));
  EXPECT_THAT(compared.out, HasSubstr("\"failure\""));

  // A run that does not fit is shown and fails. x is on d0 from the start of a, at 0.
  files_.write("p.json", R"({"format": "doppler.placement", "version": 1,
      "assignment": {"a": "d0", "b": "d0"}})");
  for (const std::string json : {"", " --json"}) {
    const Outcome run = files_.dopp("simulate big.json p.json --devices uniform:2" + json);
    EXPECT_EQ(run.exit_code, 1) << run.err;
    EXPECT_THAT(run.err, HasSubstr("dopp: error: p.json: does not fit in memory: d0 needs 8 B at "
                                   "0 s but has 1 B; the largest are x (8 B)\n"));
    EXPECT_NE(run.out, "");
    if (json.empty()) continue;
    EXPECT_THAT(json_keys(run.out), IsSupersetOf({"makespan", "failure"}));
  }
}

TEST_F(Place, MissingCostsAreNamed) {
  files_.write("bare.json", R"({"format": "doppler.graph", "version": 1, "tensors": [],
      "nodes": [{"name": "bare_node", "inputs": [], "outputs": []}]})");
  const Outcome placed = files_.dopp("place bare.json --devices uniform:2");
  EXPECT_EQ(placed.exit_code, 2) << placed.out;
  EXPECT_EQ(line_count(placed.err), 1u) << placed.err;
  EXPECT_THAT(placed.err, HasSubstr("bare.json: node 'bare_node'"));
}

// Methods that learn on the graph itself stop after so many runs and repeat themselves.
TEST_F(Place, LearnsOnTheGraphItself) {
  for (const std::string method : {"placeto", "gdp"}) {
    const std::string line =
        "place fan.json --devices uniform:2 --json --evaluations 100 --method " + method;
    const Outcome placed = files_.dopp(line + " --threads 1");
    ASSERT_EQ(placed.exit_code, 0) << placed.err;
    EXPECT_LE(json_number(placed.out, {"evaluations"}), 100);
    EXPECT_EQ(json_number(files_.dopp(line + " --threads 2").out, {"makespan"}),
              json_number(placed.out, {"makespan"}));
  }
}

TEST_F(Place, CompareReadsEveryGraphBeforeItBegins) {
  const Outcome outcome =
      files_.dopp("compare g.json nowhere.json --devices uniform:2 --methods heft");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("nowhere.json"));
}

TEST_F(Place, CompareListsEveryMethodAndSeed) {
  const Outcome words =
      files_.dopp("compare g.json fan.json --devices uniform:2 --evaluations 300 --seeds 2");
  ASSERT_EQ(words.exit_code, 0) << words.err;
  for (const char* method :
       {"single", "random", "round-robin", "critical-path", "heft", "peft", "metis", "enumerative",
        "anneal", "lns", "placeto", "gdp", "policy", "auto"}) {
    EXPECT_THAT(words.out, HasSubstr(method));
  }
  EXPECT_LE(widest_line(words.out), 100u) << words.out;
  // On devices of one kind it is `critical-path` again.
  EXPECT_THAT(words.out, Not(HasSubstr("critical-path-start")));
  const Outcome unlike = files_.dopp("compare g.json --devices 1xA100+1xT4 --evaluations 100");
  EXPECT_THAT(unlike.out, HasSubstr("critical-path-start")) << unlike.err;
  const Outcome json = files_.dopp(
      "compare g.json fan.json --devices uniform:2 --methods heft,random --seeds 3 --json");
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_THAT(json_keys(json.out), ElementsAre("results"));
  std::size_t results = 0;
  for (std::size_t at = 0; (at = json.out.find("\"makespan\"", at)) != std::string::npos; ++at)
    ++results;
  EXPECT_EQ(results, 2u * 2u * 3u);
  for (const char* key : {"\"assignment\"", "\"priority\""}) EXPECT_THAT(json.out, HasSubstr(key));
}

// Seven units on eight devices, six of them without work: parts get nothing, of which METIS warns
// on standard output where it can.
TEST_F(Place, MetisLeavesStandardOutputToTheResult) {
  std::string tensors = R"({"name": "x"})", nodes = R"({"name": "x", "time": 1, "outputs": ["x"]})";
  for (int i = 1; i < 7; ++i) {
    tensors += fmt::format(R"(, {{"name": "y{}"}})", i);
    nodes += fmt::format(R"(, {{"name": "y{0}", "time": 0, "outputs": ["y{0}"],
        "inputs": [{{"tensor": "x", "transfer_time": 1}}]}})",
                         i);
  }
  files_.write(
      "few.json",
      fmt::format(R"({{"format": "doppler.graph", "version": 1, "tensors": [{}], "nodes": [{}]}})",
                  tensors, nodes));
  const Outcome placed = files_.dopp("place few.json --devices uniform:8 --method metis --json");
  EXPECT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_THAT(json_keys(placed.out), IsSupersetOf({"makespan", "assignment"}));
  const Outcome compared = files_.dopp(
      "compare few.json --devices uniform:8 --methods metis,heft,auto --evaluations 100 --json");
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(json_keys(compared.out), ElementsAre("results"));
}

TEST_F(Place, SimulateAgreesWithPlace) {
  const Outcome placed =
      files_.dopp("place g.json --devices 2xA100 --method heft --json -o p.json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  const Outcome run = files_.dopp("simulate g.json p.json --devices 2xA100 --json --trace t.json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(json_keys(run.out), IsSupersetOf({"makespan", "utilisation", "peak_memory_bytes"}));
  const double makespan = json_number(placed.out, {"makespan"});
  EXPECT_EQ(json_number(run.out, {"makespan", "min"}), makespan);
  EXPECT_EQ(json_number(run.out, {"makespan", "max"}), makespan);
  EXPECT_FALSE(json_keys(files_.read("t.json")).empty());

  const Outcome many =
      files_.dopp("simulate g.json p.json --devices 2xA100 --choice random --runs 20 --json");
  EXPECT_LT(json_number(many.out, {"makespan", "min"}), json_number(many.out, {"makespan", "max"}));
  const Outcome repeated =
      files_.dopp("simulate g.json p.json --devices 2xA100 --choice random --runs 20 --json");
  EXPECT_EQ(many.out, repeated.out);

  const Outcome sync = files_.dopp("simulate g.json p.json --devices 2xA100 --mode sync");
  EXPECT_EQ(sync.exit_code, 0) << sync.err;
  EXPECT_LE(widest_line(sync.out), 100u);
}

TEST_F(Place, APlacementOfAnotherGraphIsRefused) {
  ASSERT_EQ(files_.dopp("place g.json --devices uniform:2 --method heft -o p.json").exit_code, 0);
  const Outcome run = files_.dopp("simulate fan.json p.json --devices uniform:2");
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_EQ(line_count(run.err), 1u) << run.err;
  const std::string whole = files_.read("p.json");
  files_.write("half.json", whole.substr(0, whole.size() / 2));
  EXPECT_EQ(files_.dopp("simulate g.json half.json --devices uniform:2").exit_code, 2);
}

TEST(Devices, ListAndShow) {
  const Outcome list = dopp("devices list");
  ASSERT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.out, HasSubstr("uniform:"));
  EXPECT_NE(list.out.front(), '\n');
  EXPECT_LE(widest_line(list.out), 80u) << list.out;
  EXPECT_THAT(list.out, HasSubstr("A100-PCIe-40GB"));
  EXPECT_THAT(json_keys(dopp("devices list --json").out), ElementsAre("devices", "presets"));
  const Workspace files;
  for (const std::string spec : {"4xP100", "8xV100", "8xH100", "2n4xA100", "2xA100+2xT4",
                                 "uniform:4", "4xRTX4090+1xCPU", "2n8xMI300X@400Gb"}) {
    const Outcome shown = files.dopp("devices show " + spec);
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_LE(widest_line(shown.out), 100u) << shown.out;
    const Outcome json = files.dopp("devices show --json " + spec);
    EXPECT_FALSE(json_keys(json.out).empty());
    // What is printed is a topology file.
    files.write("t.json", json.out);
    EXPECT_EQ(files.dopp("devices show --json t.json").exit_code, 0) << spec;
  }
}

TEST(Methods, AreListed) {
  const Outcome words = dopp("methods");
  ASSERT_EQ(words.exit_code, 0);
  EXPECT_THAT(words.out, HasSubstr("heft"));
  EXPECT_LE(widest_line(words.out), 100u) << words.out;
  EXPECT_THAT(json_keys(dopp("methods --json").out), ElementsAre("methods"));
}

}  // namespace
}  // namespace doppler::golden
