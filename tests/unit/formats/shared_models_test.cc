// Real models import without an operator or a layer that has no rule, with the weights that are
// known of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/formats/formats.h"
#include "doppler/graph/statistics.h"
#include "support/shared_graphs.h"

namespace doppler::formats {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

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
    EXPECT_THAT(imported.notes, Not(Contains(HasSubstr("rule")))) << known.file;
  }
}

}  // namespace
}  // namespace doppler::formats
