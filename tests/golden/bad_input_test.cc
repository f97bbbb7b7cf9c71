// Files and names that are wrong: exit code 2 and one line that names the file and the place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

void expect_refused(const Outcome& outcome, const std::string& start) {
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out << outcome.err;
  EXPECT_EQ(line_count(outcome.err), 1u) << outcome.err;
  EXPECT_THAT(outcome.err, StartsWith("dopp: error: " + start));
  EXPECT_EQ(outcome.out, "");
}

// One by one: a stray continuation byte, Latin-1, overlong '/', a surrogate, beyond U+10FFFF, cut.
TEST(BadInput, TextThatIsNotUtf8IsRefusedWithItsPlace) {
  const Workspace files;
  for (const std::string bytes :
       {"\x80", "\xe9", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    files.write("g.json", graph_of("\n{\"name\": \"a" + bytes + "\", \"time\": 1}"));
    expect_refused(files.dopp("graph show g.json"), "g.json:2:12: ");
    files.write("g.dot", "digraph {\n  a" + bytes + " [time=1];\n}\n");
    expect_refused(files.dopp("graph show g.dot"), "g.dot:2:4: ");
    files.write("g.txt", "1\n\n\n\n1,1,op" + bytes + "\n");
    expect_refused(files.dopp("graph show g.txt"), "g.txt:5:7: ");
    files.write("t.json", R"({"format": "doppler.topology", "name": ")" + bytes + "\"}");
    expect_refused(files.dopp("devices show ./t.json"), "./t.json:1:");
    files.write("good.json", graph_of(R"({"name": "a", "time": 1})"));
    files.write("p.json", R"({"format": "doppler.placement", "method": ")" + bytes + "\"}");
    expect_refused(files.dopp("simulate good.json p.json --devices uniform:1"), "p.json:1:44: ");
  }
  files.write("half.json", graph_of(R"({"name": "\uD800", "time": 1})"));
  expect_refused(files.dopp("graph show half.json"), "half.json:1:");
}

TEST(BadInput, NamesCannotSteerATerminal) {
  const Workspace files;
  files.write("g.json", graph_of(R"({"name": "a\u001b[2J\u009b2J\u007fz", "time": 1})"));
  files.write("p.json", R"({"format": "doppler.placement", "version": 1, "graph": "g.json",
      "devices": "uniform:1", "assignment": {"a\u001b[2J\u009b2J\u007fz": "d0"}})");
  for (const std::string line : {"graph show g.json", "simulate g.json p.json --devices uniform:1",
                                 "explain g.json p.json a\x1b[2J\xc2\x9b"
                                 "2J\x7fz",
                                 "place g.json --devices uniform:1 --method heft"}) {
    for (const std::string json : {"", " --json"}) {
      const Outcome done = files.dopp(line + json);
      EXPECT_EQ(done.exit_code, 0) << line << done.err;
      EXPECT_EQ(done.out.find_first_of("\x1b\x7f"), std::string::npos) << line << json;
      EXPECT_THAT(done.out, testing::Not(HasSubstr("\xc2\x9b"))) << line << json;
    }
  }
}

TEST(BadInput, MessagesAreOfASensibleLength) {
  const Workspace files;
  files.write("g.json",
              graph_of(R"({"name": "a", "time": 1, ")" + std::string(1'000'000, 'k') + R"(": 1})"));
  const Outcome shown = files.dopp("graph show g.json");
  expect_refused(shown, "g.json:1:");
  EXPECT_LT(shown.err.size(), 5000u);
  EXPECT_THAT(shown.err, HasSubstr("bytes left out"));
}

TEST(BadInput, ASummaryCutsLongNames) {
  const Workspace files;
  const std::string name = "\"" + std::string(1'000'000, 'n') + "\"";
  files.write("g.json", graph_of(R"({"name": )" + name + R"(, "op": )" + name + R"(, "time": 1})",
                                 R"(, "name": )" + name));
  const Outcome shown = files.dopp("graph show g.json");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_LT(shown.out.size(), 2000u);
}

TEST(BadInput, JsonIsUtf8WhateverTheFileIsCalled) {
  const Workspace files;
  files.write("g\xff.json", graph_of(R"({"name": "é€😀", "time": 1})"));
  const Outcome shown = files.dopp("graph show g\xff.json --json");
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("\"graph\": \"g\xef\xbf\xbd.json\""));
}

TEST(BadInput, ErrorsThatOnlyTheDevicesShowNameTheFile) {
  const Workspace files;
  files.write("none.json", graph_of(""));
  expect_refused(files.dopp("place none.json --devices uniform:2"),
                 "none.json: the graph has no nodes");
  files.write("pin.json",
              graph_of(R"({"name": "a", "time": 1})",
                       R"(, "constraints": {"pin": [{"node": "a", "device": "gpu7"}]})"));
  expect_refused(files.dopp("place pin.json --devices uniform:2"),
                 "pin.json: a constraint on node 'a' names device 'gpu7'");
  files.write("ok.json", graph_of(R"({"name": "a", "time": 1})",
                                  R"(, "constraints": {"pin": [{"node": "a", "device": "d1"}]})"));
  files.write("p.json",
              R"({"format": "doppler.placement", "version": 1, "assignment": {"a": "d0"}})");
  const Outcome run = files.dopp("simulate ok.json p.json --devices uniform:2");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err, "dopp: error: p.json: node 'a' must not run on 'd0'\n");
}

// Each is finite, their sum is not: the second of them goes too far.
TEST(BadInput, SumsThatOverflowAreRefusedWithTheirPlace) {
  const Workspace files;
  files.write("t.json", graph_of("\n{\"name\": \"a\", \"time\": 1e290},\n"
                                 "{\"name\": \"b\", \"time\": 1e308}"));
  expect_refused(files.dopp("graph show t.json"), "t.json:3:1: the times");
  files.write("f.dot", "digraph {\n a [flops=1e308];\n b [flops=1e308];\n}\n");
  expect_refused(files.dopp("graph show f.dot"), "f.dot:2:2: the flops");
  files.write("b.dot", "digraph {\n a -> b [bytes=1e308];\n}\n");
  expect_refused(files.dopp("graph show b.dot"), "b.dot:2:2: the bytes");
  files.write("large.dot",
              "digraph {\n a [flops=1e289, time=1e-300];\n"
              " b [time=0];\n a -> b [bytes=1e289, time=1e289];\n}\n");
  const Outcome shown = files.dopp("graph show large.dot");
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, ::testing::Not(HasSubstr("inf")));
  for (std::size_t at = 0, end; (end = shown.out.find('\n', at)) != std::string::npos; at = end + 1)
    EXPECT_LE(end - at, 100u) << shown.out;
}

TEST(BadInput, DamagedKernelCallsAreRefusedWithTheirNode) {
  const Workspace files;
  ASSERT_EQ(files.dopp("graph generate chainmm --shards 2 --size 8 -o g.json").exit_code, 0);
  const std::string good = files.read("g.json");
  const auto damaged = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    files.write("bad.json", text.replace(at, from.size(), to));
    for (const char* command :
         {"place bad.json --devices 2xA100 --method heft", "graph show bad.json"}) {
      const Outcome outcome = files.dopp(command);
      expect_refused(outcome, "bad.json:");
      EXPECT_THAT(outcome.err, HasSubstr(": node '"));
      EXPECT_THAT(outcome.err, HasSubstr("kernel contract"));
    }
  };
  damaged(R"("spec": ")", R"("spec": "!)");
  damaged(R"("attributes": {"spec")", R"("attributes": {"sepc")");
  const std::size_t shape = good.find("[[", good.find(R"("name": "contract")"));
  ASSERT_NE(shape, std::string::npos);
  damaged(good.substr(shape, 3), "[[7");
}

// 2000 devices in two groups whose 30 channels every route between them lists: 124 million in all,
// of a file of 100 kB.
TEST(BadInput, TablesThatWouldTakeGigabytesAreRefusedInLittleMemory) {
  const Workspace files;
  const auto refused = [&](const std::string& line) {
    const Outcome done = dopp(
        line, {.directory = files.root().string(), .most_memory_bytes = std::size_t{1500} << 20});
    EXPECT_EQ(done.exit_code, 2) << done.err;
    EXPECT_EQ(line_count(done.err), 1u);
    return done.err;
  };
  std::string devices, channels, list;
  for (int i = 0; i < 2200; ++i) {
    devices += R"({"name": "d)" + std::to_string(i) +
               R"(", "kind": "k", "egress": ["c0"], "group": "g)" + std::to_string(i % 2) + "\"}" +
               (i < 2199 ? "," : "");
  }
  for (int i = 0; i < 60; ++i) {
    const std::string end = i < 59 ? "," : "", name = "\"c" + std::to_string(i) + "\"";
    channels += R"({"name": )" + name + R"(, "bandwidth": 1e9})" + end;
    list += name + end;
  }
  const std::string group = R"("egress": [)" + list + "]}";
  files.write("t.json", R"({"format": "doppler.topology", "version": 1, "kinds": [)"
                        R"({"name": "k"}], "devices": [)" +
                            devices + R"(], "channels": [)" + channels +
                            R"(], "groups": [{"name": "g0", )" + group + R"(, {"name": "g1", )" +
                            group + "]}");
  files.write("g.json", graph_of(R"({"name": "a", "time": 1})"));
  EXPECT_THAT(refused("place g.json --devices t.json --costs given --links channel --method heft"),
              HasSubstr("the routes between the 2200 devices of t.json have more than 125000000 "
                        "channels in all"));
  ASSERT_EQ(files.dopp("graph generate random --family layered --nodes 30000 -o w.json").exit_code,
            0);
  EXPECT_THAT(refused("place w.json --devices uniform:4096 --method policy"),
              HasSubstr("30000 nodes on 4096 devices are 122880000 pairs, too many for a policy"));
}

TEST(BadInput, NamesOfFilesToWrite) {
  const Workspace files;
  const std::string generate = "graph generate random --family fft --nodes 9 ";
  ASSERT_EQ(files.dopp(generate + "-o g.json").exit_code, 0);
  expect_refused(files.dopp(generate + "-o ''"), "-o");
  expect_refused(files.dopp("place g.json --devices uniform:2 --method heft -o ''"), "-o");
  expect_refused(files.dopp("graph convert g.json ''"), "OUTPUT");
  expect_refused(files.dopp("graph convert g.json"), "--output");
  expect_refused(files.dopp("graph convert g.json a.json -o b.json"), "--output");
  expect_refused(files.dopp("simulate g.json p.json --devices uniform:2 --trace ''"), "--trace");
  for (const std::string& line :
       {generate + "-o x.yaml", std::string("graph convert g.json x.yaml")}) {
    const Outcome outcome = files.dopp(line);
    expect_refused(outcome, "x.yaml: ");
    EXPECT_THAT(outcome.err, HasSubstr(".json, .txt, .dot or .gv"));
  }
  EXPECT_EQ(files.dopp("graph convert g.json x.yaml --to json").exit_code, 0);
  EXPECT_EQ(files.read("x.yaml"), files.read("g.json"));
  EXPECT_EQ(files.dopp("graph convert g.json -o y.json").exit_code, 0);
  EXPECT_EQ(files.read("y.json"), files.read("g.json"));
}

TEST(BadInput, AMinusIsStandardOutput) {
  const Workspace files;
  files.dopp("graph generate random --family fft --nodes 9 -o g.json");
  const Outcome graph = files.dopp("graph convert g.json -");
  EXPECT_EQ(graph.exit_code, 0) << graph.err;
  EXPECT_EQ(graph.out, files.read("g.json"));
  EXPECT_THAT(files.dopp("graph convert g.json - --to dot").out, StartsWith("digraph"));
  const std::string place = "place g.json --devices uniform:2 --method heft -o ";
  files.dopp(place + "p.json");
  EXPECT_EQ(files.dopp(place + "-").out, files.read("p.json"));
  const std::string simulate = "simulate g.json p.json --devices uniform:2 --trace ";
  files.dopp(simulate + "t.json");
  EXPECT_EQ(files.dopp(simulate + "-").out, files.read("t.json"));
  for (const std::string& line :
       {std::string("graph convert g.json -"), place + "-", simulate + "-"})
    expect_refused(files.dopp(line + " --json"), "--json and a file named '-'");
  EXPECT_EQ(files.files(), (std::vector<std::string>{"g.json", "p.json", "t.json"}));
}

TEST(BadInput, CountsOfDevicesAreEchoedAsTyped) {
  expect_refused(dopp("devices show 99999999999999999999xA100"),
                 "devices '99999999999999999999xA100': too many devices; from 1 to 4096");
  expect_refused(dopp("devices show 5000n4xA100"),
                 "devices '5000n4xA100': 5000 nodes; from 1 to 4096");
  expect_refused(dopp("devices show ''"), "devices ''");
  expect_refused(dopp("place '' --devices uniform:2"), "the name of the file to read is empty");
}

}  // namespace
}  // namespace doppler::golden
