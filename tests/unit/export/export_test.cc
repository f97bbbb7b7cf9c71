#include "doppler/export/export.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "doppler/base/error.h"
#include "doppler/base/json_reader.h"
#include "doppler/base/protobuf_reader.h"
#include "doppler/device/spec.h"
#include "doppler/formats/dot/dot.h"
#include "doppler/formats/dot/dot_lexer.h"
#include "doppler/formats/onnx/onnx.h"
#include "doppler/graph/builder.h"
#include "support/onnx_bytes.h"

namespace doppler::exporting {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

constexpr int kFloat = 1;

// x -> /m/a/Relu -> /m/b/Neg -> (Reshape) -> /n/Exp, with a constant for the reshape.
std::string small_model() {
  using namespace test::onnx;
  const auto named = [](std::string node_bytes, std::string_view name) {
    return node_bytes + bytes(3, name);  // the last one counts
  };
  return model(
      {.nodes = {named(node("Relu", {"x"}, {"a"}), "/m/a/Relu"),
                 named(node("Neg", {"a"}, {"b"}), "/m/b/Neg"),
                 node("Constant", {}, {"k"}, {tensor_attribute("value", int64s("", {3, 2}))}),
                 node("Reshape", {"b", "k"}, {"r"}), named(node("Exp", {"r"}, {"y"}), "/n/Exp")},
       .inputs = {value("x", kFloat, {"6"})},
       .outputs = {value("y", kFloat, {})}});
}

class Export : public testing::Test {
 protected:
  Export()
      : model_(small_model()),
        problem_(
            std::make_shared<const graph::Graph>(formats::read_onnx("m.onnx", model_, {}).graph),
            std::make_shared<const device::Topology>(device::topology_from_spec("2xA100")), {}) {
    placement_ = {{DeviceId(0), DeviceId(1), DeviceId(1)}, {3.5, 2.0, 2.0}};
  }

  Exported write(std::string_view target) const {
    return target_by_name(target).write(
        {.problem = problem_, .placement = placement_, .model_file = "m.onnx", .model = model_});
  }
  std::string device_name(std::size_t i) const {
    return problem_.topology().device(placement_.device[i]).name;
  }

  std::string model_;
  cost::Problem problem_;
  schedule::Placement placement_;
};

TEST_F(Export, OnnxCarriesDevicesTwice) {
  const Exported exported = write("onnx");
  // It is still the same model.
  EXPECT_EQ(formats::read_onnx("m.onnx", exported.bytes, {}).graph.hash(), problem_.graph().hash());
  // Read by field numbers: node's metadata_props 9, device_configurations 10.
  std::vector<std::string> layers;
  std::vector<std::int64_t> devices;
  std::vector<std::string> configuration;
  const std::string file = "m.onnx";
  for (ProtobufReader in(file, exported.bytes); in.next();) {
    if (in.field() == 26) {
      for (auto entry = in.message(); entry.next();) {
        if (entry.field() == 3) {
          configuration.emplace_back(entry.string());
        } else {
          entry.skip();
        }
      }
    } else if (in.field() == 7) {
      for (auto graph = in.message(); graph.next();) {
        if (graph.field() != 1) {
          graph.skip();
          continue;
        }
        std::string layer = "-";
        std::int64_t device = -1;
        for (auto node = graph.message(); node.next();) {
          if (node.field() == 9) {
            std::string key, value;
            for (auto pair = node.message(); pair.next();) {
              (pair.field() == 1 ? key : value) = pair.string();
            }
            if (key == "layer_ann") layer = value;
          } else if (node.field() == 10) {
            for (auto config = node.message(); config.next();) {
              if (config.field() == 1) {
                EXPECT_EQ(config.string(), "doppler");
                continue;
              }
              for (auto sharding = config.message(); sharding.next();) {
                if (sharding.field() == 2) {
                  device = sharding.integer();
                } else {
                  sharding.skip();
                }
              }
            }
          } else {
            node.skip();
          }
        }
        layers.push_back(layer);
        devices.push_back(device);
      }
    } else {
      in.skip();
    }
  }
  const std::string first = device_name(0), second = device_name(1);
  // The constant has no device; the reshape stays with the data that it renames.
  EXPECT_THAT(layers, ElementsAre(first, second, "-", second, second));
  EXPECT_THAT(devices, ElementsAre(0, 1, -1, 1, 1));
  EXPECT_THAT(configuration, ElementsAre(first, second));
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("1 nodes on constants")));
}

TEST_F(Export, OnnxReplacesAnEarlierExport) {
  const std::string once = write("onnx").bytes;
  const Exported twice = target_by_name("onnx").write(
      {.problem = problem_, .placement = placement_, .model_file = "m.onnx", .model = once});
  EXPECT_EQ(twice.bytes.size(), once.size());
}

// A call whose nodes stand in its place, and a weight whose bytes are in another file.
TEST(ExportOnnx, SaysWhatItsAnnotationsDoNotHold) {
  using namespace test::onnx;
  const auto function = [](std::string_view name, std::string_view body_node) {
    return bytes(1, name) + bytes(4, "a") + bytes(5, "b") + bytes(7, body_node) +
           bytes(10, "my.ops");
  };
  const std::string weight = tensor("w", kFloat, {50}) + integer(14, 1) +
                             bytes(13, bytes(1, "location") + bytes(2, "w.data")) +
                             bytes(13, bytes(1, "offset") + bytes(2, "64"));
  const std::string whole =
      model({.nodes = {node("Outer", {"x"}, {"t"}, {}, "my.ops"), node("Add", {"t", "w"}, {"y"})},
             .initializers = {weight},
             .inputs = {value("x", kFloat, {"50"})},
             .outputs = {value("y", kFloat, {})}},
            13,
            {function("Outer", node("Inner", {"a"}, {"b"}, {}, "my.ops")),
             function("Inner", node("Exp", {"a"}, {"b"}))});
  const cost::Problem problem(
      std::make_shared<const graph::Graph>(formats::read_onnx("m.onnx", whole, {}).graph),
      std::make_shared<const device::Topology>(device::topology_from_spec("2xA100")), {});
  ASSERT_EQ(problem.node_count(), 2u);
  const schedule::Placement placement{{DeviceId(0), DeviceId(1)}, {2.0, 1.0}};
  const Exported exported = target_by_name("onnx").write(
      {.problem = problem, .placement = placement, .model_file = "m.onnx", .model = whole});
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("1 calls of functions and Ifs carry no device"),
                                          HasSubstr("weights are in w.data, which must stay")));
}

TEST_F(Export, OnnxNeedsTheModel) {
  const Source other{
      .problem = problem_, .placement = placement_, .model_file = "g.json", .model = "{}"};
  EXPECT_THAT(([&] { target_by_name("onnx").write(other); }),
              ThrowsMessage<ParameterError>(HasSubstr("g.json: only a graph that was read from")));
  EXPECT_THAT([] { target_by_name("tflite"); },
              ThrowsMessage<ParameterError>(HasSubstr("known: onnx, torch, tf, dot, starpu")));
}

TEST_F(Export, TorchMapsModulesToNumbers) {
  const Exported exported = write("torch");
  std::map<std::string, std::uint64_t> map;
  JsonReader reader("map", exported.bytes);
  reader.begin_object();
  while (const auto key = reader.next_key()) {
    const std::string name(*key);
    map[name] = reader.unsigned_integer(9);
  }
  EXPECT_THAT(map,
              UnorderedElementsAre(std::pair("m.a", 0u), std::pair("m.b", 1u), std::pair("n", 1u)));
}

TEST_F(Export, TorchHasOneEntryWhereAllIsOnOneDevice) {
  placement_.device = {DeviceId(1), DeviceId(1), DeviceId(1)};
  EXPECT_THAT(write("torch").bytes, HasSubstr("\"\": 1"));
}

struct TorchNode {
  const char* name;
  double time;
  std::uint32_t device;
};
Exported torch_map(const std::vector<TorchNode>& nodes, const char* devices) {
  graph::GraphBuilder builder;
  schedule::Placement placement;
  for (const TorchNode& node : nodes) {
    builder.add_node({.name = node.name, .time = node.time});
    placement.device.push_back(DeviceId(node.device));
    placement.priority.push_back(0.0);
  }
  const cost::Problem problem(
      std::make_shared<const graph::Graph>(std::move(builder).build()),
      std::make_shared<const device::Topology>(device::topology_from_spec(devices)), {});
  return target_by_name("torch").write({.problem = problem, .placement = placement});
}

TEST(ExportTorch, GivesASplitModuleToMostOfItsWork) {
  const Exported split =
      torch_map({{"/m/x/MatMul", 10, 0}, {"/m/x/Add", 1, 1}, {"/m/y/Mul", 1, 1}}, "2xA100");
  EXPECT_THAT(split.bytes, HasSubstr("\"m.x\": 0"));
  EXPECT_THAT(split.bytes, HasSubstr("\"m.y\": 1"));
  EXPECT_THAT(split.notes, Contains(HasSubstr("1 of 3 nodes share a module")));
  // Work of the module itself, beside that of one in it: the longer path counts.
  const Exported nested = torch_map({{"/m/MatMul", 10, 0}, {"/m/x/Add", 1, 1}}, "2xA100");
  EXPECT_THAT(nested.bytes, HasSubstr("\"m\": 0"));
  EXPECT_THAT(nested.bytes, HasSubstr("\"m.x\": 1"));
  EXPECT_THAT(nested.notes, Not(Contains(HasSubstr("share a module"))));
}

TEST(ExportTorch, NamesTheCpu) {
  EXPECT_THAT(torch_map({{"/m/x/MatMul", 10, 0}}, "cpu:1").bytes, HasSubstr("\"\": \"cpu\""));
}

TEST_F(Export, TensorflowStrings) {
  const std::string text = write("tf").bytes;
  EXPECT_THAT(text, HasSubstr("name: \".m/a/Relu\""));  // a name may not start with a slash
  EXPECT_THAT(text, HasSubstr("input: \".m/b/Neg\""));
  const std::string device = "device: \"/job:localhost/replica:0/task:0/device:GPU:";
  std::vector<char> devices;
  for (std::size_t at = text.find(device); at != std::string::npos;
       at = text.find(device, at + 1)) {
    devices.push_back(text[at + device.size()]);
  }
  EXPECT_THAT(devices, ElementsAre('0', '1', '1'));
}

TEST_F(Export, DotReadsBack) {
  const std::string text = write("dot").bytes;
  const graph::Graph graph = formats::read_dot("g.dot", text, {}).graph;
  EXPECT_EQ(graph.node_count(), 3u);
  EXPECT_EQ(graph.edge_count(), 2u);
  // Our own reader passes over 'device'; its lexer does not.
  std::map<std::string, std::string> devices;
  const std::string file = "g.dot";
  formats::DotLexer lexer(file, text);
  std::string node;
  for (formats::DotToken token = lexer.take(); token.kind != formats::DotToken::Kind::kEnd;
       token = lexer.take()) {
    if (lexer.peek().is("[")) node = token.text;
    if (token.text == "device") {
      lexer.take();
      devices[node] = lexer.take().text;
    }
  }
  EXPECT_THAT(devices, UnorderedElementsAre(std::pair("/m/a/Relu", device_name(0)),
                                            std::pair("/m/b/Neg", device_name(1)),
                                            std::pair("/n/Exp", device_name(2))));
}

TEST_F(Export, StarpuWorkersAndRanks) {
  std::vector<std::string> tasks;
  const std::string text = write("starpu").bytes;
  JsonReader reader("f", text);
  reader.begin_object();
  while (const auto key = reader.next_key()) {
    if (*key != "tasks") {
      reader.skip_value();
      continue;
    }
    reader.begin_array();
    while (reader.next_element()) {
      std::string name;
      std::uint64_t worker = 99, priority = 99;
      reader.begin_object();
      while (const auto field = reader.next_key()) {
        if (*field == "name") {
          name = reader.string();
        } else if (*field == "worker") {
          worker = reader.unsigned_integer(9);
        } else if (*field == "priority") {
          priority = reader.unsigned_integer(9);
        } else {
          reader.skip_value();
        }
      }
      tasks.push_back(fmt::format("{} on {} at {}", name, worker, priority));
    }
  }
  // Priorities 3.5, 2 and 2 have the ranks 2, 1 and 1.
  EXPECT_THAT(tasks, ElementsAre("/m/a/Relu on 0 at 2", "/m/b/Neg on 1 at 1", "/n/Exp on 1 at 1"));
}

}  // namespace
}  // namespace doppler::exporting
