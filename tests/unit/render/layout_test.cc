#include "doppler/render/charts/layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "doppler/base/rng.h"

namespace doppler::render {
namespace {

std::vector<LayoutEdge> chain(std::uint32_t nodes) {
  std::vector<LayoutEdge> edges;
  for (std::uint32_t v = 1; v < nodes; ++v) edges.push_back({v - 1, v});
  return edges;
}

void expect_apart(const Layout& layout) {
  for (std::size_t a = 0; a < layout.x.size(); ++a) {
    ASSERT_GE(layout.x[a], 0.0);
    ASSERT_LE(layout.x[a], layout.width);
    ASSERT_GE(layout.y[a], 0.0);
    ASSERT_LE(layout.y[a], layout.height);
    for (std::size_t b = a + 1; b < layout.x.size(); ++b) {
      if (std::abs(layout.x[a] - layout.x[b]) < Layout::kColumnPitch - 1e-6) {
        ASSERT_GE(std::abs(layout.y[a] - layout.y[b]), Layout::kRowPitch - 1e-6) << a << ", " << b;
      }
    }
  }
}

TEST(Layout, AShortChainIsOneLine) {
  const Layout layout = layered_layout(5, chain(5));
  for (std::size_t v = 1; v < 5; ++v) {
    EXPECT_DOUBLE_EQ(layout.x[v] - layout.x[v - 1], Layout::kColumnPitch);
    EXPECT_DOUBLE_EQ(layout.y[v], layout.y[0]);
  }
  EXPECT_DOUBLE_EQ(layout.width, 5 * Layout::kColumnPitch);
}

// 400 nodes in a row would be 76,000 wide: folded like text, the picture suits a screen.
TEST(Layout, ALongChainIsFolded) {
  const Layout layout = layered_layout(400, chain(400));
  expect_apart(layout);
  EXPECT_LT(layout.width / layout.height, 5.0);
  EXPECT_GT(layout.width / layout.height, 1.0);
}

// A thousand nodes that know nothing of each other fill a page rather than one column.
TEST(Layout, ManyNodesOfOneLayerAreSeveralColumns) {
  const Layout layout = layered_layout(1000, {});
  expect_apart(layout);
  EXPECT_GT(layout.width / layout.height, 0.8);
}

// u -> a, b; both -> z: the middle of a diamond lies beside its ends.
TEST(Layout, ADiamondIsSymmetric) {
  const std::vector<LayoutEdge> edges = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  const Layout layout = layered_layout(4, edges);
  EXPECT_DOUBLE_EQ(layout.y[0], layout.y[3]);
  EXPECT_NEAR((layout.y[1] + layout.y[2]) / 2, layout.y[0], 1e-9);
  EXPECT_LT(layout.x[0], layout.x[1]);
  EXPECT_LT(layout.x[2], layout.x[3]);
}

// A source that is needed late stands right before what needs it: 0 -> 1 -> 2 -> 3 and 4 -> 5 with
// 3 -> 5, so that 4 is beside 3.
TEST(Layout, SourcesStandNextToTheirReaders) {
  const std::vector<LayoutEdge> edges = {{0, 1}, {1, 2}, {2, 3}, {3, 5}, {4, 5}};
  const Layout layout = layered_layout(6, edges);
  EXPECT_DOUBLE_EQ(layout.x[4], layout.x[3]);
}

TEST(Layout, RandomGraphsKeepNodesApartAndForward) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto nodes = static_cast<std::uint32_t>(2 + rng.below(150));
    std::vector<LayoutEdge> edges;
    for (std::uint32_t i = 0; i < 2 * nodes; ++i) {
      const auto a = static_cast<std::uint32_t>(rng.below(nodes));
      const auto b = static_cast<std::uint32_t>(rng.below(nodes));
      if (a != b) edges.push_back({a, b});  // some lead back: they are to have no influence
    }
    const Layout layout = layered_layout(nodes, edges);
    expect_apart(layout);
    const Layout again = layered_layout(nodes, edges);
    EXPECT_EQ(layout.x, again.x);
    EXPECT_EQ(layout.y, again.y);
  }
}

TEST(Layout, NoNodesAtAll) {
  EXPECT_TRUE(layered_layout(0, {}).x.empty());
}

}  // namespace
}  // namespace doppler::render
