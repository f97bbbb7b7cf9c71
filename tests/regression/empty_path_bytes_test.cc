// The bytes of a path that a placement file gives in base64 may be none, which has no address to
// copy from.
#include <gtest/gtest.h>

#include "doppler/schedule/placement.h"

namespace doppler::schedule {
namespace {

TEST(EmptyPathBytes, AreAnEmptyPath) {
  const PlacementOrigin origin = read_placement_origin("p.json", R"({"format": "doppler.placement",
      "version": 1, "graph": "g", "graph_bytes": "", "assignment": {}})");
  EXPECT_EQ(origin.graph, "");
}

}  // namespace
}  // namespace doppler::schedule
