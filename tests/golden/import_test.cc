// Foreign formats and constraints, as a user types them
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace doppler::golden {
namespace {

using ::testing::HasSubstr;

class Import : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.write("msr.json", R"({"maxSizePerFPGA": 100, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [
      {"id": 1, "name": "a", "supportedOnFpga": 1, "cpuLatency": 10, "fpgaLatency": 1,
       "isBackwardNode": 0, "colorClass": 1, "size": 60},
      {"id": 2, "name": "b", "supportedOnFpga": 1, "cpuLatency": 10, "fpgaLatency": 1,
       "isBackwardNode": 0, "colorClass": 2, "size": 60},
      {"id": 3, "name": "c", "supportedOnFpga": 1, "cpuLatency": 10, "fpgaLatency": 1,
       "isBackwardNode": 0, "colorClass": 1, "size": 30}],
      "edges": [{"sourceId": 1, "destId": 2, "cost": 0.001, "size": 1},
                {"sourceId": 2, "destId": 3, "cost": 0.001, "size": 1}]})");
  }
  Workspace files_;
};

TEST_F(Import, DevicesAndLimitsOfTheFile) {
  // a and c share an accelerator of 100 bytes, which b's 60 do not fit beside: 3 ms and moves.
  const Outcome placed = files_.dopp("place msr.json --devices file --method exact --json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_THAT(placed.out, HasSubstr("\"notes\": ["));
  EXPECT_THAT(placed.err, HasSubstr("dopp: note: latencies and costs are taken for milliseconds"));
  EXPECT_GT(json_number(placed.out, {"makespan"}), 0.003);
  EXPECT_LT(json_number(placed.out, {"makespan"}), 0.0031);
  // Other devices have their own capacities.
  EXPECT_EQ(files_.dopp("place msr.json --devices 1xA100 --method heft").exit_code, 0);
  const Outcome none = files_.dopp("place g.json --devices file");
  EXPECT_EQ(none.exit_code, 2);
}

TEST_F(Import, ShowCountsAndForcesFormats) {
  const Outcome shown = files_.dopp("graph show msr.json");
  EXPECT_THAT(shown.out, HasSubstr("3 nodes"));
  const Outcome forced = files_.dopp("graph show msr.json --format kineto");
  EXPECT_EQ(forced.exit_code, 2);
  EXPECT_THAT(forced.err, HasSubstr("a trace without operators"));
  files_.write("x.json", "{\"hello\": 1}");
  const Outcome unknown = files_.dopp("graph show x.json");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err,
              HasSubstr("not a graph in a format that is read here (onnx, hlo, ncnn, json"));
  EXPECT_EQ(line_count(unknown.err), 1u);
}

TEST_F(Import, ConstraintsAreObeyedOrExplained) {
  const Outcome pinned = files_.dopp(
      "place msr.json --devices file --method heft --pin b=cpu0 --forbid a=acc0 --json");
  ASSERT_EQ(pinned.exit_code, 0) << pinned.err;
  EXPECT_THAT(pinned.out, HasSubstr("\"b\": \"cpu0\""));
  EXPECT_THAT(pinned.out, testing::Not(HasSubstr("\"a\": \"acc0\"")));

  const Outcome conflict = files_.dopp("place msr.json --devices file --pin a=acc0 --pin c=acc1");
  EXPECT_EQ(conflict.exit_code, 1);
  EXPECT_THAT(conflict.err, HasSubstr("'a' is pinned to acc0 and colocated with 'c', which is "
                                      "pinned to acc1"));

  const Outcome full = files_.dopp("place msr.json --devices file --method heft --pin *=acc0");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(
      full.err,
      HasSubstr("these 2 tensors (a.memory, b.memory) need 120 B on acc0, which has 100 B"));

  files_.write("c.json", R"({"format": "doppler.constraints", "version": 1,
    "colocate": [["a", "b"]], "memory": {"acc*": 200}})");
  const Outcome file =
      files_.dopp("place msr.json --devices file --method exact --constraints c.json --json");
  ASSERT_EQ(file.exit_code, 0) << file.err;
  EXPECT_DOUBLE_EQ(json_number(file.out, {"makespan"}), 0.003);  // all on one accelerator

  // Slips in the file name it.
  files_.write("slip.json", R"({"format": "doppler.constraints", "version": 1,
    "pin": [{"nodes": "z", "devices": "acc0"}]})");
  const Outcome slip = files_.dopp("place msr.json --devices file --constraints slip.json");
  EXPECT_EQ(slip.exit_code, 2);
  EXPECT_THAT(
      slip.err,
      HasSubstr(
          "slip.json: pin: no node is called 'z'; dopp graph convert to .json lists the names"));

  EXPECT_THAT(files_.dopp("place msr.json --devices file --pin z=acc0").err,
              HasSubstr("no node is called 'z'"));
  EXPECT_THAT(files_.dopp("place msr.json --devices file --memory acc0=lots").err,
              HasSubstr("--memory: 'lots' is no number of bytes"));
}

// A placement knows how its graph was read: whoever uses it need not say it again.
TEST_F(Import, DimensionsGoWithThePlacement) {
  files_.write("net.param",
               "7767517\n3 3\nInput data 0 1 data\nConvolution conv 1 1 data a 0=8 1=3 6=216\n"
               "ReLU relu 1 1 a b\n");
  const Outcome placed = files_.dopp(
      "place net.param --devices 2xA100 --method heft --format ncnn --dim data.w=64,data.h=32,x=3 "
      "-o p.json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_THAT(placed.err, HasSubstr("--dim x=3: the model has no such input size"));
  EXPECT_THAT(files_.read("p.json"), HasSubstr("\"data.h\": 32"));
  EXPECT_THAT(files_.read("p.json"), HasSubstr("\"graph_format\": \"ncnn\""));
  for (const char* command :
       {"report p.json -o r.html", "diff p.json p.json", "export p.json --to dot -o p.dot"}) {
    const Outcome used = files_.dopp(command);
    EXPECT_EQ(used.exit_code, 0) << command << used.err;
    EXPECT_EQ(used.err, "") << command;  // no word of another graph
  }
  EXPECT_THAT(files_.dopp("simulate net.param p.json --devices 2xA100").err,
              testing::Not(HasSubstr("another version of this graph")));
  // Another size is another graph: it is said, and both are judged on the first.
  ASSERT_EQ(files_.dopp("place net.param --devices 2xA100 --method heft -o q.json").exit_code, 0);
  const Outcome other = files_.dopp("diff p.json q.json");
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_THAT(other.err, HasSubstr("another version of this graph"));
  // A format goes with the file that it was said of.
  ASSERT_EQ(files_.dopp("graph convert net.param net.json --dim data.w=64,data.h=32").exit_code, 0);
  EXPECT_EQ(files_.dopp("explain net.json p.json conv").exit_code, 0);
  files_.write("bad.json", R"({"format": "doppler.placement", "version": 1, "graph": "net.param",
    "graph_format": "klingon", "devices": "2xA100", "assignment": {"conv": "gpu0", "relu": "gpu0"}})");
  EXPECT_THAT(files_.dopp("report bad.json -o r.html").err,
              HasSubstr("bad.json: unknown graph format 'klingon'"));
  const Outcome large = files_.dopp("graph show net.param --dim data.w=9000000000000");
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_THAT(large.err, HasSubstr("with a whole number from 1 to 1099511627776"));
  EXPECT_THAT(files_.dopp("graph show msr.json --dim w=2").err,
              HasSubstr("--dim w=2 means nothing: msr files leave no dimension open"));
}

}  // namespace
}  // namespace doppler::golden
