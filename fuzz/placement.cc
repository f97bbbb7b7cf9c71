// Fuzzes the reader of placement files, for a graph of two nodes on two devices.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/device/spec.h"
#include "doppler/graph/builder.h"
#include "doppler/schedule/placement.h"

namespace {

using namespace doppler;

const cost::Problem& problem() {
  static const cost::Problem problem = [] {
    graph::GraphBuilder builder;
    const NodeId a = builder.add_node({.name = "a", .time = 1.0});
    const NodeId b = builder.add_node({.name = "b", .time = 1.0});
    builder.connect(builder.add_output(a, 8.0, 1.0), b);
    return cost::Problem(
        std::make_shared<const graph::Graph>(std::move(builder).build()),
        std::make_shared<const device::Topology>(device::topology_from_spec("uniform:2")));
  }();
  return problem;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> warnings;
  try {
    schedule::read_placement_json("fuzz", {reinterpret_cast<const char*>(data), size}, problem(),
                                  warnings);
  } catch (const InputError&) {
  }
  return 0;
}
