#include "doppler/render/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "doppler/base/file.h"
#include "doppler/base/json_reader.h"
#include "doppler/graph/builder.h"
#include "doppler/graph/generate/random.h"
#include "doppler/sim/simulator.h"
#include "support/graphs.h"

namespace doppler::render {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What stands in the script element that holds the data.
std::string data_of(const std::string& html) {
  const std::string open = "<script id=\"data\" type=\"application/json\">";
  const std::size_t begin = html.find(open) + open.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

PagePlacement placed(std::shared_ptr<const cost::Problem> problem, std::size_t stride = 1) {
  std::vector<DeviceId> device;
  for (std::size_t v = 0; v < problem->node_count(); ++v) {
    device.push_back(DeviceId::of(v / stride % problem->device_count()));
  }
  const auto placement = schedule::with_b_levels(*problem, std::move(device));
  PagePlacement shown{.name = "p.json",
                      .graph_path = "g.json",
                      .method = "test",
                      .problem = problem,
                      .timeline = sim::Simulator(*problem).timeline(placement),
                      .figures = {},
                      .bound = {.name = "load", .value = 1.0},
                      .subject = "graph g.json\n",
                      .explanation = "one line\nand another\n"};
  return shown;
}

// All numbers under a key of the first object that has it.
std::vector<double> numbers(const std::string& json, const std::string& key) {
  const std::size_t at = json.find("\"" + key + "\": [");
  EXPECT_NE(at, std::string::npos) << key;
  JsonReader reader("data", json, at + key.size() + 4);
  std::vector<double> values;
  reader.begin_array();
  while (reader.next_element()) values.push_back(reader.number());
  return values;
}

TEST(Page, TheTemplateIsTheCommittedFile) {
  // Not EXPECT_EQ, which would print both.
  EXPECT_TRUE(page_template() ==
              read_file(std::string(DOPPLER_SOURCE) + "/doppler/render/page/page.html"));
}

TEST(Page, NamesCannotEndTheScript) {
  const std::string evil = "</script><script>alert(1)</script><!--";
  const auto problem = test::uniform_problem(
      test::simple_graph({{evil, 1}, {"b", 1}}, {{evil, "b"}}, 1), 2, cost::LinkMode::kFree);
  Page page{.title = evil};
  page.placements.push_back(placed(problem));
  page.placements.front().name = evil;
  const std::string html = page_html(page);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  const std::string data = data_of(html);
  JsonReader reader("data", data);
  reader.skip_value();
  reader.finish();
  EXPECT_THAT(data, HasSubstr("\\u003c/script>\\u003cscript>alert(1)"));
}

// a(1) on d0, transfer 2, b(1) on d1: a 0-1, moved 1-3, b 3-4; a tick is 4 / 10^7.
TEST(Page, BarsAreTheRun) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 1}, {"b", 1}}, {{"a", "b"}}, 2), 2, cost::LinkMode::kChannel);
  Page page{.title = "t"};
  page.placements.push_back(placed(problem));
  const std::string data = data_of(page_html(page));
  EXPECT_EQ(numbers(data, "bars"), (std::vector<double>{0, 0, 0, 2500000, 1, 1, 7500000, 2500000}));
  EXPECT_EQ(numbers(data, "transfers"), (std::vector<double>{0, 0, 2500000, 5000000}));
  EXPECT_EQ(numbers(data, "critical_bars"), (std::vector<double>{0, 1}));
  EXPECT_EQ(numbers(data, "critical_transfers"), (std::vector<double>{0}));
  EXPECT_EQ(numbers(data, "device"), (std::vector<double>{0, 1}));
  EXPECT_EQ(numbers(data, "links"), (std::vector<double>{0, 1}));
}

// a(1) and b(3) one after the other on one of two devices, 100 bytes from one to the other.
TEST(Page, MemoryAndBusyTime) {
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 1.0});
  const NodeId b = builder.add_node({.name = "b", .time = 3.0});
  builder.connect(builder.add_output(a, 100.0, 1.0), b);
  Page page{.title = "t"};
  page.placements.push_back(
      placed(test::uniform_problem(std::move(builder).build(), 2, cost::LinkMode::kChannel), 2));
  const std::string data = data_of(page_html(page));
  EXPECT_THAT(data, HasSubstr("\"busy\": 1"));
  EXPECT_THAT(data, HasSubstr("\"peak_bytes\": 100"));
  // Time and bytes in turn: the tensor is there while a writes and b reads it.
  const std::vector<double> memory = numbers(data, "memory");
  EXPECT_THAT(memory, ::testing::Contains(100.0));
  EXPECT_EQ(memory.size() % 2, 0u);
}

// Placements of one graph share it.
TEST(Page, AGraphStandsOnce) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"only_once", 1}, {"b", 1}}, {{"only_once", "b"}}, 2), 2,
      cost::LinkMode::kFree);
  Page page{.title = "t"};
  page.placements.push_back(placed(problem));
  page.placements.push_back(placed(problem, 2));
  const std::string data = data_of(page_html(page));
  EXPECT_EQ(data.find("only_once"), data.rfind("only_once"));
}

// More nodes than can be drawn become groups, each node in one, and bars stay few enough.
TEST(Page, LargeGraphsAreGroupedAndPagesStaySmall) {
  const auto problem = test::uniform_problem(
      graph::generate_random({.family = graph::Family::kLayered, .nodes = 30000, .seed = 5}), 4,
      cost::LinkMode::kFree);
  Page page{.title = "t"};
  page.placements.push_back(placed(problem));
  const std::string html = page_html(page);
  EXPECT_LT(html.size(), 5'000'000u);
  const std::string data = data_of(html);
  EXPECT_THAT(data, HasSubstr("\"grouping\": \"level\""));
  double nodes = 0.0;
  for (const double count : numbers(data, "count")) nodes += count;
  EXPECT_EQ(nodes, 30000.0);
  // The lanes' busy time survives the thinning: joined bars only add what lies between.
  const std::vector<double> bars = numbers(data, "bars");
  EXPECT_LE(bars.size() / 4, 50'000u);
  EXPECT_GT(bars.size() / 4, 100u);
}

// A chain of 60 layers with 100 nodes each, which have the names that tools give: groups are the 60
// layers' two parts, and a loss behind them that is in no scope.
TEST(Page, LargeModelsAreDrawnByLayer) {
  graph::GraphBuilder builder;
  TensorId last{};
  const auto add = [&](std::string name) {
    const NodeId node = builder.add_node({.name = std::move(name), .time = 1.0});
    if (last.valid()) builder.connect(last, node);
    last = builder.add_output(node, 1.0, 1.0);
  };
  for (int layer = 0; layer < 60; ++layer) {
    for (int i = 0; i < 50; ++i)
      add("/model/layers." + std::to_string(layer) + "/attn/Mul_" + std::to_string(i));
    for (int i = 0; i < 50; ++i)
      add("/model/layers." + std::to_string(layer) + "/mlp/Mul_" + std::to_string(i));
  }
  add("loss");
  Page page{.title = "t"};
  page.placements.push_back(
      placed(test::uniform_problem(std::move(builder).build(), 4, cost::LinkMode::kFree), 1600));
  const std::string data = data_of(page_html(page));
  EXPECT_THAT(data, HasSubstr("\"grouping\": \"layer\""));
  EXPECT_THAT(data, HasSubstr("\"model/layers.7/mlp\""));
  const std::vector<double> count = numbers(data, "count");
  EXPECT_EQ(count.size(), 121u);
  EXPECT_EQ(std::count(count.begin(), count.end(), 50.0), 120);
}

TEST(Page, SeveralLargeGraphsStayAsSmall) {
  Page page{.title = "t"};
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    page.placements.push_back(placed(test::uniform_problem(
        graph::generate_random({.family = graph::Family::kLayered, .nodes = 20000, .seed = seed}),
        4, cost::LinkMode::kFree)));
  }
  EXPECT_LT(page_html(page).size(), 5'000'000u);
}

TEST(Page, TrainingsAlone) {
  Page page{.title = "t"};
  page.trainings.push_back({.name = "run",
                            .facts = {"words"},
                            .stages = {{"sim", 0, 10}},
                            .curves = {{"", {10}, {std::nan("")}, {1.25}}}});
  const std::string data = data_of(page_html(page));
  EXPECT_THAT(data, HasSubstr("\"mean\": [null]"));
  EXPECT_THAT(data, HasSubstr("\"best\": [1.25]"));
}

}  // namespace
}  // namespace doppler::render
