#include "doppler/place/parameter_packing.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/graph/builder.h"
#include "doppler/place/feasible.h"
#include "support/graphs.h"

namespace doppler::place {
namespace {

// Independent nodes, each with a parameter of its own of so many bytes.
std::shared_ptr<const cost::Problem> nodes_with_parameters(const std::vector<double>& bytes,
                                                           const std::vector<std::uint64_t>& room) {
  graph::GraphBuilder builder;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::string name = "n" + std::to_string(i);
    const NodeId node = builder.add_node({.name = name, .time = 1.0});
    builder.connect(
        builder.add_tensor(
            {.name = name + ".w", .role = graph::TensorRole::kParameter, .bytes = bytes[i]}),
        node);
  }
  for (std::size_t d = 0; d < room.size(); ++d) {
    builder.constraints().memory.push_back({"d" + std::to_string(d), room[d]});
  }
  return test::uniform_problem(std::move(builder).build(), room.size(), cost::LinkMode::kFree);
}

std::vector<double> packed_bytes(const std::vector<double>& bytes,
                                 const std::vector<DeviceId>& device, std::size_t devices) {
  std::vector<double> packed(devices, 0.0);
  for (std::size_t i = 0; i < bytes.size(); ++i) packed.at(device.at(i).index()) += bytes[i];
  return packed;
}

// The first two take 8 of 10, and then the last 3 has no place: one of them must go back.
TEST(ParameterPacking, GoesBackWhereTheLargestFirstIsNoAnswer) {
  const std::vector<double> bytes = {4, 4, 3, 3, 3, 3};
  const auto packing = pack_parameters(*nodes_with_parameters(bytes, {10, 10}));
  ASSERT_TRUE(packing);
  EXPECT_EQ(packed_bytes(bytes, *packing, 2), (std::vector<double>{10, 10}));
}

TEST(ParameterPacking, SaysWhereThereIsNone) {
  EXPECT_FALSE(pack_parameters(*nodes_with_parameters({4, 4, 4}, {7, 7})));
  EXPECT_FALSE(pack_parameters(*nodes_with_parameters({0, 0}, {7, 7})));
}

// Of 5, 4, 4 and 1 bytes on devices of 7 and 7 each device holds one of the first three: those
// prove that none can, and the last has no part in it.
TEST(ParameterPacking, TheFewestThatDoNotFitAreNamed) {
  const auto problem = nodes_with_parameters({4, 5, 1}, {7, 7});
  EXPECT_EQ(packing_conflict(*problem), "");
  const auto full = nodes_with_parameters({4, 5, 1, 4}, {7, 7});
  EXPECT_EQ(
      packing_conflict(*full),
      "the parameters of n1 (5 B), n0 (4 B), n3 (4 B) cannot be dealt out to devices with d0 7 "
      "B, d1 7 B in any way");
  const schedule::Placement together{std::vector<DeviceId>(4, DeviceId(0)),
                                     std::vector<double>(4, 0.0)};
  try {
    make_feasible(*full, together, 1);
    FAIL();
  } catch (const InfeasibleError& error) {
    EXPECT_NE(std::string(error.what()).find("none can: the parameters of n1 (5 B)"),
              std::string::npos)
        << error.what();
  }
}

// Two nodes that may only go to d0 are in each other's way, whatever room d1 has.
TEST(ParameterPacking, DevicesOfEqualRoomAreNotAlikeWhereNodesArePinned) {
  graph::GraphBuilder builder;
  for (const char* name : {"a", "b", "c"}) {
    const NodeId node = builder.add_node({.name = name, .time = 1.0});
    builder.connect(builder.add_tensor({.name = std::string(name) + ".w",
                                        .role = graph::TensorRole::kParameter,
                                        .bytes = name[0] == 'c' ? 5.0 : 4.0}),
                    node);
    if (name[0] == 'c') builder.constraints().pins.push_back({node, "d1"});
  }
  builder.constraints().memory = {{"d0", 8}, {"d1", 8}};
  const auto problem = test::uniform_problem(std::move(builder).build(), 2, cost::LinkMode::kFree);
  const auto packing = pack_parameters(*problem);
  ASSERT_TRUE(packing);
  EXPECT_EQ(*packing, (std::vector<DeviceId>{DeviceId(0), DeviceId(0), DeviceId(1)}));
}

// Devices are filled to the last byte, so that nothing but a perfect packing fits.
TEST(ParameterPacking, MakesTightPlacementsFeasible) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng = Rng::stream(seed, 0);
    std::vector<double> bytes;
    std::vector<std::uint64_t> room;
    for (int d = 0; d < 3; ++d) {
      room.push_back(0);
      for (int i = 0; i < 5; ++i) {
        bytes.push_back(10 + rng.below(90));
        room.back() += static_cast<std::uint64_t>(bytes.back());
      }
    }
    const auto problem = nodes_with_parameters(bytes, room);
    const schedule::Placement together{std::vector<DeviceId>(bytes.size(), DeviceId(0)),
                                       std::vector<double>(bytes.size(), 0.0)};
    const schedule::Placement feasible = make_feasible(*problem, together, seed);
    EXPECT_TRUE(MemoryFit(*problem).fits(feasible));
  }
}

}  // namespace
}  // namespace doppler::place
