// Models in, placements out for other tools, as a user types them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "command.h"
#include "support/onnx_bytes.h"
#include "support/packed_bytes.h"

namespace doppler::golden {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two branches of products, so that both devices are worth using.
std::string two_branches() {
  using namespace test::onnx;
  return model({.nodes = {node("MatMul", {"x", "w"}, {"a"}), node("MatMul", {"x", "v"}, {"b"}),
                          node("Add", {"a", "b"}, {"y"})},
                .initializers = {tensor("w", 1, {4096, 4096}), tensor("v", 1, {4096, 4096})},
                .inputs = {value("x", 1, {"batch", "4096"})},
                .outputs = {value("y", 1, {})}});
}

class Export : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.write("m.onnx", two_branches());
    const Outcome placed = files_.dopp(
        "place m.onnx --dim batch=4096 --devices 2xA100 --method heft -o placement.json");
    ASSERT_EQ(placed.exit_code, 0) << placed.err;
  }
  Workspace files_;
};

TEST_F(Export, EveryFormFromThePlacementAlone) {
  for (const auto& [form, expected] :
       std::vector<std::pair<std::string, std::string>>{{"onnx", "layer_ann"},
                                                        {"torch", "\"n_a\""},
                                                        {"tf", "/device:GPU:1"},
                                                        {"dot", "digraph"},
                                                        {"starpu", "doppler.starpu"}}) {
    const Outcome outcome = files_.dopp("export placement.json --to " + form + " -o out." + form);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(files_.read("out." + form), HasSubstr(expected)) << form;
  }
  // The exported model is placed as the model itself.
  EXPECT_EQ(
      files_.dopp("simulate out.onnx placement.json --dim batch=4096 --devices 2xA100").exit_code,
      0);
  const Outcome json = files_.dopp("export placement.json --to dot -o again.dot --json");
  EXPECT_THAT(json_keys(json.out),
              ElementsAre("output", "form", "bytes", "graph", "devices", "notes"));
}

TEST_F(Export, APackedModel) {
  files_.write("m.onnx.gz", test::gzip(two_branches()));
  EXPECT_EQ(files_
                .dopp("place m.onnx.gz --dim batch=4096 --devices 2xA100 --method heft -o "
                      "packed.json")
                .exit_code,
            0);
  const Outcome outcome = files_.dopp("export packed.json --to onnx -o unpacked.onnx");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(files_.dopp("export placement.json --to onnx -o plain.onnx").exit_code, 0);
  EXPECT_EQ(files_.read("unpacked.onnx"), files_.read("plain.onnx"));
}

TEST_F(Export, APlacementByMeasuredCosts) {
  const Outcome run = files_.dopp(
      "run m.onnx placement.json --devices 2xA100 --engine emulated --clock virtual --profile "
      "c.json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  ASSERT_EQ(files_
                .dopp("place m.onnx --dim batch=4096 --devices 2xA100 --method heft --costs c.json "
                      "-o measured.json")
                .exit_code,
            0);
  const Outcome without = files_.dopp("export measured.json --to dot -o out.dot");
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, HasSubstr("give their file with --costs"));
  const Outcome with = files_.dopp("export measured.json --costs c.json --to dot -o out.dot");
  EXPECT_EQ(with.exit_code, 0) << with.err;
}

// Whatever a command reads, it does not replace.
TEST_F(Export, ModelsAreNotReplaced) {
  const auto refused = [&](const std::string& line) {
    const Outcome outcome = files_.dopp(line);
    EXPECT_EQ(outcome.exit_code, 2) << line;
    EXPECT_THAT(outcome.err, HasSubstr("'m.onnx' is read, and would be replaced")) << line;
    EXPECT_EQ(files_.read("m.onnx"), two_branches());
  };
  refused("export placement.json --to dot -o m.onnx");
  refused("report placement.json -o m.onnx");
  refused("graph convert m.onnx m.onnx --to json");
}

TEST_F(Export, BadRequests) {
  const Outcome form = files_.dopp("export placement.json --to tflite -o x");
  EXPECT_EQ(form.exit_code, 2);
  EXPECT_THAT(form.err, HasSubstr("unknown form 'tflite' (known: onnx, torch, tf, dot, starpu)"));
  files_.write("g.dot", "digraph { n_a [flops=1]; n_b [flops=1]; n_y [flops=1] }");
  const Outcome graph = files_.dopp("export placement.json g.dot --to onnx -o x");
  EXPECT_EQ(graph.exit_code, 2);
  EXPECT_THAT(graph.err, HasSubstr("only a graph that was read from an ONNX model"));
  EXPECT_FALSE(files_.has("x"));
  const Outcome over = files_.dopp("export placement.json --to onnx -o m.onnx");
  EXPECT_EQ(over.exit_code, 2);
  EXPECT_THAT(over.err, HasSubstr("'m.onnx' is read, and would be replaced"));
  EXPECT_EQ(files_.read("m.onnx"), two_branches());
  EXPECT_EQ(files_.dopp("export gone.json --to dot -o x").exit_code, 2);
  EXPECT_THAT(files_.dopp("export placement.json --devices '' --to dot -o x").err,
              HasSubstr("--devices: is empty"));
  std::filesystem::rename(files_.path("m.onnx"), files_.path("away.onnx"));
  EXPECT_THAT(files_.dopp("export placement.json --to dot -o x").err,
              HasSubstr("placement.json: names the graph m.onnx, which is not there"));
  EXPECT_THAT(files_.dopp("export --help").out, HasSubstr("Examples:"));
}

}  // namespace
}  // namespace doppler::golden
