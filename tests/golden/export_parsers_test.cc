// Exported placements as the parsers of other tools read them: protoc with the published schemas'
// fields, Graphviz. Skipped where these are not there; tools/setup.sh parsers installs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "command.h"
#include "support/onnx_bytes.h"

namespace doppler::golden {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExportParsers : public ::testing::Test {
 protected:
  void SetUp() override {
    using namespace test::onnx;
    files_.write("m.onnx", model({.nodes = {node("Relu", {"x"}, {"a"}), node("Neg", {"x"}, {"b"}),
                                            node("Add", {"a", "b"}, {"y"})},
                                  .inputs = {value("x", 1, {"64"})},
                                  .outputs = {value("y", 1, {})}}));
    const Outcome placed = files_.dopp(
        "place m.onnx --devices 3xA100 --method heft --pin n_a=gpu2 --pin n_b=gpu1 --pin n_y=gpu0 "
        "-o p.json");
    ASSERT_EQ(placed.exit_code, 0) << placed.err;
  }

  void write(const std::string& form) const {
    const Outcome outcome = files_.dopp("export p.json --to " + form + " -o out." + form);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  // What a shell's command prints; fails the test where it fails.
  std::string shell(const std::string& line) const {
    const std::string all =
        "cd '" + files_.root().string() + "' && { " + line + "; } > shell.out 2> shell.err";
    EXPECT_EQ(std::system(all.c_str()), 0) << line << '\n' << files_.read("shell.err");
    return files_.read("shell.out");
  }
  static bool there_is(const std::string& command) {
    return std::system(("command -v " + command + " > /dev/null 2>&1").c_str()) == 0;
  }

  // The first group of the pattern wherever it fits, in order.
  static std::vector<std::string> all(const std::string& text, const std::string& pattern) {
    const std::regex regex(pattern);
    std::vector<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
      found.push_back((*at)[1]);
    }
    return found;
  }

  Workspace files_;
};

// Field numbers of onnx.proto, IR version 11.
TEST_F(ExportParsers, OnnxByProtoc) {
  if (!there_is("protoc")) GTEST_SKIP() << "no protoc";
  files_.write("onnx.proto", R"(syntax = "proto2";
package onnx;
message StringStringEntryProto { optional string key = 1; optional string value = 2; }
message ShardingSpecProto { optional string tensor_name = 1; repeated int64 device = 2; }
message NodeDeviceConfigurationProto {
  optional string configuration_id = 1;
  repeated ShardingSpecProto sharding_spec = 2;
}
message NodeProto {
  repeated string input = 1;
  repeated string output = 2;
  optional string name = 3;
  optional string op_type = 4;
  repeated StringStringEntryProto metadata_props = 9;
  repeated NodeDeviceConfigurationProto device_configurations = 10;
}
message GraphProto { repeated NodeProto node = 1; optional string name = 2; }
message DeviceConfigurationProto {
  optional string name = 1;
  optional int32 num_devices = 2;
  repeated string device = 3;
}
message ModelProto {
  optional int64 ir_version = 1;
  optional GraphProto graph = 7;
  repeated DeviceConfigurationProto configuration = 26;
}
)");
  write("onnx");
  const std::string text = shell("protoc --decode=onnx.ModelProto onnx.proto < out.onnx");
  EXPECT_THAT(all(text, "name: \"(n_.)\""), ElementsAre("n_a", "n_b", "n_y"));
  EXPECT_THAT(all(text, "key: \"layer_ann\"\\s+value: \"([^\"]*)\""),
              ElementsAre("gpu2", "gpu1", "gpu0"));
  EXPECT_THAT(all(text, "tensor_name: \"[^\"]*\"\\s+device: (\\d+)"), ElementsAre("2", "1", "0"));
  EXPECT_THAT(text, HasSubstr("num_devices: 3"));
  EXPECT_THAT(all(text, "device: \"([^\"]*)\""), ElementsAre("gpu0", "gpu1", "gpu2"));
}

// Field names and numbers of TensorFlow's graph.proto, node_def.proto and attr_value.proto.
TEST_F(ExportParsers, GraphDefByProtoc) {
  if (!there_is("protoc")) GTEST_SKIP() << "no protoc";
  files_.write("graph.proto", R"(syntax = "proto3";
package tensorflow;
message AttrValue { oneof value { bytes s = 2; int64 i = 3; float f = 4; bool b = 5; } }
message NodeDef {
  string name = 1;
  string op = 2;
  repeated string input = 3;
  string device = 4;
  map<string, AttrValue> attr = 5;
}
message VersionDef { int32 producer = 1; int32 min_consumer = 2; }
message GraphDef { repeated NodeDef node = 1; VersionDef versions = 4; }
)");
  write("tf");
  const std::string text = shell(
      "protoc --encode=tensorflow.GraphDef graph.proto < out.tf | "
      "protoc --decode=tensorflow.GraphDef graph.proto");
  EXPECT_THAT(all(text, "name: \"(n_.)\""), ElementsAre("n_a", "n_b", "n_y"));
  EXPECT_THAT(all(text, "/device:GPU:(\\d)\""), ElementsAre("2", "1", "0"));
  EXPECT_THAT(all(text, "input: \"(n_.)\""), ElementsAre("n_a", "n_b"));
}

TEST_F(ExportParsers, DotByGraphviz) {
  if (!there_is("dot")) GTEST_SKIP() << "no Graphviz";
  write("dot");
  const std::string text = shell("dot -Tcanon out.dot");
  for (const auto& [name, device] : std::vector<std::pair<std::string, std::string>>{
           {"n_a", "gpu2"}, {"n_b", "gpu1"}, {"n_y", "gpu0"}}) {
    EXPECT_THAT(all(text, name + "\\s*\\[[^\\]]*device=\"?(gpu\\d)"), ElementsAre(device)) << text;
  }
}

}  // namespace
}  // namespace doppler::golden
