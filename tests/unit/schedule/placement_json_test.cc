#include "doppler/schedule/placement.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "support/graphs.h"

namespace doppler::schedule {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::shared_ptr<const cost::Problem> pair_problem() {
  return test::uniform_problem(test::simple_graph({{"a", 1}, {"b", 1}}, {{"a", "b"}}, 3), 2,
                               cost::LinkMode::kFree);
}

std::string file(const std::string& rest) {
  return "{\"format\": \"doppler.placement\", \"version\": 1,\n" + rest + "}";
}

std::string error_of(const std::string& text) {
  const auto problem = pair_problem();
  std::vector<std::string> warnings;
  try {
    read_placement_json("p.json", text, *problem, warnings);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(PlacementJson, WhatIsWrittenReadsBackTheSame) {
  const auto problem =
      test::uniform_problem(test::random_graph({.nodes = 40}, 7), 3, cost::LinkMode::kChannel);
  Rng rng = Rng::stream(7, 1);
  PlacementFile written{.origin = origin_of(*problem, "dir/g \"x\".json", "uniform:3"),
                        .placement = {}};
  written.origin.method = "lns";
  written.origin.seed = UINT64_MAX;
  written.origin.makespan = 1.0 / 3.0;
  // Of two rules for one pattern the later counts, and it alone is written.
  written.origin.constraints = {.pins = {{"n[0-3]", "d1"}, {"\"q\"", "*"}},
                                .forbids = {{"*", "d2"}},
                                .colocate = {{"n4", "n5*"}, {"n6"}},
                                .memory = {{"d0", 1}, {"d*", 2}, {"d0", 1u << 31}}};
  for (std::size_t v = 0; v < problem->node_count(); ++v) {
    written.placement.device.push_back(DeviceId(rng.below(3)));
    written.placement.priority.push_back(rng.uniform(-1e9, 1e9));
  }
  const std::string text = write_placement_json(*problem, written);
  std::vector<std::string> warnings;
  const PlacementFile read = read_placement_json("p.json", text, *problem, warnings);
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_EQ(read.placement, written.placement);
  EXPECT_EQ(write_placement_json(*problem, read), text);
  const PlacementOrigin& origin = read.origin;
  EXPECT_EQ(origin.graph, "dir/g \"x\".json");
  EXPECT_EQ(origin.devices, "uniform:3");
  EXPECT_EQ(origin.graph_hash, problem->graph().hash());
  EXPECT_EQ(origin.links, cost::LinkMode::kChannel);
  EXPECT_EQ(origin.costs, cost::CostSource::kGiven);
  EXPECT_EQ(origin.seed, UINT64_MAX);
  EXPECT_EQ(origin.makespan, 1.0 / 3.0);
  const cost::ConstraintRules& rules = origin.constraints;
  ASSERT_EQ(rules.pins.size(), 2u);
  EXPECT_EQ(rules.pins[1].nodes, "\"q\"");
  ASSERT_EQ(rules.forbids.size(), 1u);
  EXPECT_EQ(rules.forbids[0].devices, "d2");
  EXPECT_EQ(rules.colocate, written.origin.constraints.colocate);
  ASSERT_EQ(rules.memory.size(), 2u);
  EXPECT_EQ(rules.memory[0].devices, "d*");
  EXPECT_EQ(rules.memory[1].bytes, 1u << 31);
}

// Large enough that a search through all nodes for each of them would not come back.
TEST(PlacementJson, AHundredThousandNodes) {
  graph::GraphBuilder builder;
  constexpr std::size_t kNodes = 100'000;
  Placement placement;
  for (std::size_t v = 0; v < kNodes; ++v) {
    builder.add_node({.name = fmt::format("layer{}/matmul.{}", v % 977, v), .time = 1.0});
    placement.device.push_back(DeviceId::of(v % 64));
    placement.priority.push_back(1.0 / static_cast<double>(v + 3));
  }
  const auto problem = test::uniform_problem(std::move(builder).build(), 64, cost::LinkMode::kFree);
  const std::string text = write_placement_json(
      *problem, {.origin = origin_of(*problem, "g", "uniform:64"), .placement = placement});
  std::vector<std::string> warnings;
  EXPECT_EQ(read_placement_json("p.json", text, *problem, warnings).placement, placement);
}

TEST(PlacementJson, WithoutPrioritiesItGetsBLevels) {
  const auto problem = pair_problem();
  std::vector<std::string> warnings;
  const PlacementFile read = read_placement_json(
      "p.json", file(R"("assignment": {"b": "d1", "a": "d0"})"), *problem, warnings);
  EXPECT_THAT(read.placement.device, ElementsAre(DeviceId(0), DeviceId(1)));
  EXPECT_THAT(read.placement.priority, ElementsAre(5.0, 1.0));  // 1 + 3 + 1
  EXPECT_THAT(warnings, testing::IsEmpty());                    // it does not say what it is for
}

TEST(PlacementJson, DifferencesAreWarnedOfNotRefused) {
  const auto problem = pair_problem();
  PlacementFile written{.origin = origin_of(*problem, "g", "4xP100"),
                        .placement = {{DeviceId(0), DeviceId(0)}, {1, 2}}};
  *written.origin.graph_hash ^= 1;
  *written.origin.topology_hash ^= 1;
  written.origin.links = cost::LinkMode::kChannel;
  written.origin.costs = cost::CostSource::kRoofline;
  std::vector<std::string> warnings;
  const PlacementFile read =
      read_placement_json("p.json", write_placement_json(*problem, written), *problem, warnings);
  EXPECT_EQ(read.placement, written.placement);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("another version of this graph"),
                                    HasSubstr("other devices (4xP100)"),
                                    HasSubstr("links 'channel', now they are 'free'"),
                                    HasSubstr("costs 'roofline', now they are 'given'")));
}

TEST(PlacementJson, BadFilesAreRefusedWithTheirPlace) {
  EXPECT_EQ(error_of("{}"), "p.json:1:1: not a doppler.placement file: no key 'format'");
  EXPECT_EQ(error_of(file(R"("method": "x")")), "p.json:1:1: no key 'assignment'");
  EXPECT_EQ(error_of(file(R"("assignment": {"a": "d0", "c": "d0"})")),
            "p.json:2:27: the graph has no node 'c'");
  EXPECT_EQ(error_of(file(R"("assignment": {"a": "gpu7", "b": "d0"})")),
            "p.json:2:21: uniform:2 has no device 'gpu7'");
  EXPECT_EQ(error_of(file(R"("assignment": {"a": "d0", "a": "d1"})")),
            "p.json:2:27: node 'a' stands twice");
  EXPECT_EQ(error_of(file(R"("assignment": {"b": "d0"})")), "p.json:2:1: node 'a' has no device");
  EXPECT_EQ(error_of(file(R"("assignment": {})")),
            "p.json:2:1: node 'a' has no device, nor have 1 more");
  EXPECT_EQ(error_of(file(R"("assignment": {"a": "d0", "b": "d0"}, "priority": {"a": 1})")),
            "p.json:2:39: node 'b' has no priority");
  EXPECT_EQ(error_of(file(R"("assignment": {"a": 0})")),
            "p.json:2:21: expected a string, found a number");
  EXPECT_EQ(error_of(file(R"("graph_hash": "12")")),
            "p.json:2:15: expected a hash of 16 hexadecimal digits");
  EXPECT_EQ(error_of(file(R"("links": "fast")")),
            "p.json:2:10: 'fast' is none of 'free', 'channel'");
  EXPECT_EQ(error_of(file(R"("colour": 1)")), "p.json:2:1: unknown key 'colour' in the placement");
  EXPECT_THAT(error_of(R"({"format": "doppler.placement", "version": 9})"),
              HasSubstr("version 9 of doppler.placement is not known here"));
}

TEST(PlacementJson, PrioritiesMustBeFinite) {
  const auto problem = pair_problem();
  const PlacementFile bad{.origin = origin_of(*problem, "g", "d"),
                          .placement = {{DeviceId(0), DeviceId(0)}, {1, cost::kInfinity}}};
  EXPECT_THROW(write_placement_json(*problem, bad), ParameterError);
}

}  // namespace
}  // namespace doppler::schedule
