#include "doppler/cost/constraint_rules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doppler/cost/conflict.h"
#include "doppler/cost/problem.h"
#include "doppler/device/presets.h"
#include "doppler/device/spec.h"
#include "doppler/graph/builder.h"
#include "support/errors.h"

namespace doppler::cost {
namespace {

using test::error_of;
using testing::HasSubstr;

TEST(Glob, FitsWholeNames) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("layer?.*", "layer1.weights"));
  EXPECT_FALSE(glob_matches("layer?", "layer12"));
  EXPECT_TRUE(glob_matches("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(glob_matches("a*b*c", "a-b-b-"));
  EXPECT_TRUE(glob_matches("gpu[0-2]", "gpu1"));
  EXPECT_FALSE(glob_matches("gpu[!0-2]", "gpu1"));
  EXPECT_TRUE(glob_matches("x[]]", "x]"));
  EXPECT_TRUE(glob_matches("f[3, 4", "f[3, 4"));  // a set without an end is no set
  EXPECT_TRUE(glob_matches("a\\*", "a*"));
  EXPECT_FALSE(glob_matches("a\\*", "ab"));
  EXPECT_FALSE(glob_matches("", "x"));
}

// Rules of which most are none.
struct Rules : ConstraintRules {
  Rules& pin(std::string nodes, std::string devices) {
    pins.push_back({std::move(nodes), std::move(devices)});
    return *this;
  }
  Rules& forbid(std::string nodes, std::string devices) {
    forbids.push_back({std::move(nodes), std::move(devices)});
    return *this;
  }
  Rules& together(std::vector<std::string> patterns) {
    colocate.push_back(std::move(patterns));
    return *this;
  }
  Rules& limit(std::string devices, std::uint64_t bytes) {
    memory.push_back({std::move(devices), bytes});
    return *this;
  }
};

// a -> b -> c of 1 s each on two devices; each reads a parameter of 10 bytes.
graph::Graph chain() {
  graph::GraphBuilder builder;
  TensorId last;
  for (const char* name : {"a", "b", "c"}) {
    const NodeId node = builder.add_node({.name = name, .time = 1.0});
    const TensorId weights = builder.add_tensor(
        {.name = std::string(name) + ".w", .role = graph::TensorRole::kParameter, .bytes = 10.0});
    builder.connect(weights, node);
    if (last.valid()) builder.connect(last, node);
    last = builder.add_output(node, 4.0, 1.0);
  }
  return std::move(builder).build();
}

Problem problem(const ConstraintRules& rules, const char* devices = "uniform:2") {
  auto graph = std::make_shared<const graph::Graph>(chain());
  auto topology = std::make_shared<const device::Topology>(device::topology_from_spec(devices));
  graph::Constraints constraints = resolve(rules, *graph, *topology);
  return Problem(std::move(graph), std::move(topology), {.constraints = std::move(constraints)});
}

std::string device_name(std::size_t d) {
  return device::topology_from_spec("uniform:2").devices()[d].name;
}

TEST(ConstraintRules, BecomeConstraintsOfAProblem) {
  const std::string d0 = device_name(0), d1 = device_name(1);
  const Problem p = problem(
      Rules().pin("a", d0).forbid("c", d0).together({"b", "c"}).limit("*", 100).limit(d1, 50));
  EXPECT_THAT(p.allowed_devices(NodeId(0)), testing::ElementsAre(DeviceId(0)));
  EXPECT_THAT(p.allowed_devices(NodeId(1)), testing::ElementsAre(DeviceId(1)));
  EXPECT_EQ(p.unit_of(NodeId(1)), p.unit_of(NodeId(2)));
  EXPECT_EQ(p.capacity_bytes(DeviceId(0)), 100.0);
  EXPECT_EQ(p.capacity_bytes(DeviceId(1)), 50.0);
  // A pattern of several devices leaves a choice among them.
  EXPECT_EQ(problem(Rules().pin("a", "*")).allowed_devices(NodeId(0)).size(), 2u);
}

TEST(ConstraintRules, PatternsThatFitNothingAreRefused) {
  EXPECT_THAT(error_of<ParameterError>([] { problem(Rules().pin("z*", "*")); }),
              HasSubstr("no node is called 'z*'"));
  EXPECT_THAT(error_of<ParameterError>([] { problem(Rules().limit("gpu9", 1)); }),
              HasSubstr("has no device 'gpu9' (it has " + device_name(0)));
}

TEST(ConstraintRules, TheSmallestConflictIsTold) {
  const std::string d0 = device_name(0), d1 = device_name(1);
  const auto conflict = [](const ConstraintRules& rules) {
    return error_of<InfeasibleError>([&] { problem(rules); });
  };
  EXPECT_EQ(conflict(Rules().pin("a", d0).pin("c", d1).together({"a", "b", "c"})),
            "no device of uniform:2 is left: 'a' is pinned to " + d0 +
                " and colocated with 'c', which is pinned to " + d1);
  EXPECT_EQ(conflict(Rules().pin("a", d0).pin("a", d1)),
            "no device of uniform:2 is left: 'a' is pinned to " + d0 + " and is pinned to " + d1);
  EXPECT_EQ(
      conflict(Rules().pin("b", d1).forbid("a", d0).forbid("b", d1)),
      "no device of uniform:2 is left: 'b' is pinned to " + d1 + " and is forbidden on " + d1);
  EXPECT_EQ(conflict(Rules().forbid("a", d0).forbid("b", d1).together({"[ab]"})),
            "no device of uniform:2 is left: 'a' is forbidden on " + d0 +
                " and colocated with 'b', which is forbidden on " + d1);
}

TEST(MemoryConflict, NamesTheTensorsThatCannotFit) {
  const std::string d0 = device_name(0);
  // Three parameters of 10 bytes on a device of 25: the third is one too many.
  EXPECT_EQ(memory_conflict(problem(Rules().pin("*", d0).limit(d0, 25))),
            "these 3 tensors (a.w, b.w, c.w) need 30 B on " + d0 + ", which has 25 B");
  // b needs its parameter, its input and its result at once: 10 + 4 + 4.
  EXPECT_THAT(memory_conflict(problem(Rules().limit("*", 15))),
              HasSubstr("need 18 B at once for 'b', whose largest device has 15 B"));
  EXPECT_THAT(memory_conflict(problem(Rules().together({"*"}).limit("*", 25))),
              HasSubstr("for 'a' and 2 nodes colocated with it, whose largest device has 25 B"));
  EXPECT_EQ(memory_conflict(problem(Rules().limit("*", 25))), "");
  // Two of three devices are left to all of them, and two of these parameters fit there.
  const device::Topology three = device::topology_from_spec("uniform:3");
  const auto names = three.devices();
  EXPECT_EQ(
      memory_conflict(problem(Rules().forbid("*", names[2].name).limit("*", 14), "uniform:3")),
      fmt::format("these 3 tensors (a.w, b.w, c.w) need 30 B on {}, {}, which together have "
                  "28 B",
                  names[0].name, names[1].name));
}

TEST(ConstraintRulesJson, ReadsAllAndRefusesTheRest) {
  const ConstraintRules rules = read_constraint_rules_json("c.json", R"({
    "format": "doppler.constraints", "version": 1,
    "pin": [{"nodes": "a*", "devices": "gpu0"}], "forbid": [{"nodes": "b", "devices": "cpu*"}],
    "colocate": ["x*", ["y", "z"]], "memory": {"gpu0": 1024}})");
  EXPECT_EQ(rules.pins[0].nodes, "a*");
  EXPECT_EQ(rules.forbids[0].devices, "cpu*");
  ASSERT_EQ(rules.colocate.size(), 2u);
  EXPECT_EQ(rules.colocate[1], (std::vector<std::string>{"y", "z"}));
  EXPECT_EQ(rules.memory[0].bytes, 1024u);
  const auto error = [](const char* text) {
    return error_of([&] { read_constraint_rules_json("c.json", text); });
  };
  EXPECT_THAT(error(R"({"version": 1})"), HasSubstr("no key 'format'"));
  EXPECT_THAT(error(R"({"format": "doppler.constraints", "version": 2})"),
              HasSubstr("use a newer doppler"));
  EXPECT_THAT(error(R"({"format": "doppler.constraints", "version": 1, "pins": []})"),
              HasSubstr("c.json:1:49: unknown key 'pins'"));
  EXPECT_THAT(error(R"({"format": "doppler.constraints", "version": 1, "pin": [{"nodes": "a"}]})"),
              HasSubstr("a rule needs 'nodes' and 'devices'"));
}

// The first demand rules out three of seven devices. The second rules out two more, and is taken
// next; but the third and the fourth, which the other two devices need, make it superfluous.
TEST(SmallestConflict, HasNoSuperfluousDemand) {
  std::vector<Demand> demands;
  for (const std::vector<std::size_t>& excluded :
       std::vector<std::vector<std::size_t>>{{0, 1, 2}, {3, 4}, {3, 5}, {4, 6}}) {
    Demand demand{.node = NodeId::of(demands.size()),
                  .words = "",
                  .excludes = std::vector<std::uint8_t>(7, 0)};
    for (const std::size_t d : excluded) demand.excludes[d] = 1;
    demands.push_back(demand);
  }
  EXPECT_EQ(smallest_conflict(demands, 7), (std::vector<std::size_t>{0, 2, 3}));
}

}  // namespace
}  // namespace doppler::cost
