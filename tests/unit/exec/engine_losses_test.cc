// What is placed anew when a device is lost, on an emulated machine that computes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "doppler/base/error.h"
#include "doppler/exec/engine.h"
#include "support/errors.h"
#include "support/graphs.h"

namespace doppler::exec {
namespace {

// a (short) and c (long) start together, on d0 and d1; b needs both and is placed on d0, so that
// nothing but c leaves its device before b starts.
graph::GraphBuilder join() {
  graph::GraphBuilder builder;
  const NodeId a = builder.add_node({.name = "a", .time = 0.01});
  const NodeId b = builder.add_node({.name = "b", .time = 0.01});
  const NodeId c = builder.add_node({.name = "c", .time = 1.0});
  builder.connect(builder.add_output(a, 4.0, 0.001), b);
  builder.connect(builder.add_output(c, 4.0, 0.001), b);
  return builder;
}

// Runs it and loses d0 while c runs. Returns the nodes that were placed anew.
std::set<std::string> replaced_after_loss(graph::Graph graph) {
  const auto problem = test::uniform_problem(std::move(graph), 2, cost::LinkMode::kChannel);
  std::set<std::string> replaced;
  Engine engine(
      problem,
      {.backend = "emulated", .computes = false, .replace = [&](const cost::Problem& remaining) {
         std::vector<DeviceId> device;
         for (std::size_t v = 0; v < remaining.node_count(); ++v) {
           const NodeId node = NodeId::of(v);
           replaced.emplace(remaining.graph().node_name(node));
           device.push_back(remaining.allowed_devices(node).front());
         }
         return schedule::with_b_levels(remaining, std::move(device));
       }});
  engine.load(test::place(*problem, {{"a", "d0"}, {"b", "d0"}, {"c", "d1"}}));
  std::jthread saboteur([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    engine.lose(DeviceId(0));
  });
  engine.run();
  return replaced;
}

// What a made is lost with the memory of d0, so that a has to run once more.
TEST(EngineLosses, WhatWasInTheMemoryOfALostDeviceIsMadeAgain) {
  const std::set<std::string> replaced = replaced_after_loss(join().build());
  EXPECT_TRUE(replaced.contains("a"));
  EXPECT_TRUE(replaced.contains("b"));
}

// b may run on the lost device only, which is what the error says.
TEST(EngineLosses, ALostDeviceThatANodeIsPinnedToIsNamedWithTheNode) {
  graph::GraphBuilder builder = join();
  builder.constraints().pins.push_back({NodeId(1), "d0"});
  EXPECT_EQ(
      test::error_of<InfeasibleError>([&] { replaced_after_loss(std::move(builder).build()); }),
      "node 'b' may run on d0 only, which is lost: its work cannot move to another device");
}

}  // namespace
}  // namespace doppler::exec
