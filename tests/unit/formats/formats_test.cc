#include "doppler/formats/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "doppler/base/file.h"
#include "doppler/graph/generate/random.h"
#include "doppler/graph/statistics.h"
#include "support/errors.h"
#include "support/shared_graphs.h"

namespace doppler::formats {
namespace {

using test::error_of;

// A file that is gone when the test ends.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, std::string_view content)
      : path_((std::filesystem::path(testing::TempDir()) / name).string()) {
    write_file(path_, content);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Import, KnowsAFormatByItsContent) {
  EXPECT_EQ(recognise(" {\"format\": \"doppler.graph\"").name, "json");
  EXPECT_EQ(recognise("{\"format\"").name, "json");  // damaged: its reader says where
  EXPECT_EQ(recognise("112\n0, ").name, "text");
  EXPECT_EQ(recognise("\n digraph g {").name, "dot");
  EXPECT_EQ(recognise("STRICT DIGRAPH {}").name, "dot");
  EXPECT_EQ(recognise("graph {}").name, "dot");  // refused by its reader, with the reason
  EXPECT_EQ(recognise("// drawn by hand\ndigraph {}").name, "dot");
  EXPECT_EQ(error_of([] { recognise(" \n"); }), "the file is empty");
  for (const char* other : {"hello", "dig", "\xef\xbb\xbf[1]", "{}", "{\"nodes\": 3}"}) {
    EXPECT_THAT(error_of([&] { recognise(other); }),
                testing::AllOf(testing::StartsWith("not a graph in a format that is read here"),
                               testing::HasSubstr(format_names())))
        << other;
  }
}

TEST(Import, KnowsFormatsByNameAndPath) {
  for (const Format& format : formats()) EXPECT_EQ(&format_by_name(format.name), &format);
  EXPECT_EQ(error_of<ParameterError>([] { format_by_name("jpeg"); }),
            "unknown graph format 'jpeg' (known: " + format_names() + ")");
  EXPECT_EQ(written_format_of_path("a.txt/g.json")->name, "json");
  EXPECT_EQ(written_format_of_path("g.txt")->name, "text");
  EXPECT_EQ(written_format_of_path("g.gv")->name, "dot");
  EXPECT_EQ(written_format_of_path("dot"), nullptr);
}

TEST(Import, LoadsEveryFormatThatItWrites) {
  const graph::Graph graph = graph::generate_random({graph::Family::kCholesky, 35});
  for (const Format& format : formats()) {
    if (format.write == nullptr) continue;
    const TemporaryFile file("doppler_import_test", format_graph(graph, format.name).text);
    const graph::Graph loaded = load_graph(file.path());
    EXPECT_EQ(loaded.node_count(), graph.node_count());
    EXPECT_EQ(loaded.edge_count(), graph.edge_count());
    EXPECT_EQ(loaded.name(), format.name == "text" ? "doppler_import_test" : graph.name());
  }
}

TEST(Import, ErrorsNameTheFile) {
  EXPECT_THAT(error_of([] { load_graph("/nowhere/g.json"); }),
              testing::StartsWith("/nowhere/g.json: cannot open"));
  const TemporaryFile empty("doppler_empty.json", "");
  EXPECT_EQ(error_of([&] { load_graph(empty.path()); }), empty.path() + ":1:1: the file is empty");
  const TemporaryFile text("doppler_text.json", "1\n\n\n\n1,1\n");
  EXPECT_EQ(load_graph(text.path()).node_count(), 1u);
  EXPECT_EQ(error_of([&] { load_graph(text.path(), {.format = "json"}); }),
            text.path() + ":1:1: not a doppler.graph file: it is not a JSON object");
}

// Real models import without an operator or a layer that has no rule, with the weights that are
// known of them.
struct Known {
  std::string file;
  double gflops, parameter_megabytes;  // published of the architecture, as far as it is known
};

// Multiply-adds count twice. ResNet-50: 4.1 G multiply-adds, 25.6 M weights; GoogLeNet: 1.5 G, 7 M;
// SqueezeNet 1.0: 0.35 G, 1.24 M; YOLOv4-tiny: 6.91 GFLOP; MobileNetV3: 0.22 G.
TEST(SharedModels, WorkAndWeights) {
  for (const Known& known : std::vector<Known>{
           {"onnx/onnx-light/light_resnet50.onnx", 8.2, 102.4},
           {"onnx/onnx-light/light_inception_v1.onnx", 3.0, 28.0},
           {"onnx/onnx-light/light_squeezenet.onnx", 0.70, 4.96},
           {"hlo/xla/backends/cpu/benchmarks/hlo/resnet50_keras_jax_f32.hlo", 7.8, 102.6},
           {"ncnn/benchmark/models/yolov4-tiny.param", 6.91, 24.2},
           {"ncnn/benchmark/models/mobilenet_v3.param", 0.46, 21.0}}) {
    const auto path = test::shared_graph(known.file);
    if (!path) GTEST_SKIP() << "the shared graphs are not here";
    const Imported imported = load(*path);
    const graph::Statistics statistics = graph::compute_statistics(imported.graph);
    EXPECT_NEAR(statistics.flops.sum / 1e9, known.gflops, 0.12 * known.gflops) << known.file;
    EXPECT_NEAR(statistics.parameter_bytes.sum / 1e6, known.parameter_megabytes,
                0.03 * known.parameter_megabytes)
        << known.file;
    EXPECT_THAT(imported.notes, testing::Not(testing::Contains(testing::HasSubstr("rule"))))
        << known.file;
  }
}

}  // namespace
}  // namespace doppler::formats
