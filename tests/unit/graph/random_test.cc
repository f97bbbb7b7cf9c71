#include "doppler/graph/generate/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "doppler/base/error.h"
#include "doppler/graph/statistics.h"
#include "support/errors.h"

namespace doppler::graph {
namespace {

TEST(RandomFamilies, HaveExactlyTheWantedSizeWhereTheyCan) {
  for (const Family family : {Family::kLayered, Family::kForkJoin, Family::kSeriesParallel}) {
    for (std::size_t nodes = 1; nodes <= 60; ++nodes) {
      EXPECT_EQ(generate_random({family, nodes}).node_count(), nodes) << family_name(family);
    }
    EXPECT_EQ(generate_random({family, 5000}).node_count(), 5000u) << family_name(family);
  }
}

TEST(RandomFamilies, CholeskyHasTheNearestSize) {
  // T (T + 1) (T + 2) / 6: 1, 4, 10, 20, 35, 56, 84, 120.
  const auto size = [](std::size_t wanted) {
    return generate_random({Family::kCholesky, wanted}).node_count();
  };
  EXPECT_EQ(size(1), 1u);
  EXPECT_EQ(size(3), 4u);
  EXPECT_EQ(size(4), 4u);
  EXPECT_EQ(size(7), 4u);  // as near to 10: the smaller
  EXPECT_EQ(size(8), 10u);
  EXPECT_EQ(size(100), 84u);  // 16 away, 120 is 20 away
}

TEST(RandomFamilies, CholeskyOfTwoTilesIsTheKnownChain) {
  // potrf.0 -> trsm.1.0 -> syrk.1.0 -> potrf.1
  const Graph graph = generate_random({Family::kCholesky, 4});
  ASSERT_EQ(graph.node_count(), 4u);
  EXPECT_EQ(graph.edge_count(), 3u);
  const char* const names[] = {"potrf.0", "trsm.1.0", "syrk.1.0", "potrf.1"};
  for (std::uint32_t v = 0; v < 4; ++v) {
    EXPECT_EQ(graph.node_name(NodeId(v)), names[v]);
    if (v == 0) continue;
    EXPECT_EQ(graph.producer(graph.inputs(NodeId(v))[0]), NodeId(v - 1));
  }
  // A trsm does three times the work of a potrf.
  EXPECT_NEAR(*graph.flops(NodeId(1)) / *graph.flops(NodeId(0)), 3.0, 1e-6);
}

TEST(RandomFamilies, CholeskyHasOneSourceOneSinkAndTheKnownDepth) {
  // The longest chain of T tiles is potrf, trsm, syrk for each k but the last, then potrf: 3 T - 2.
  const Statistics result = compute_statistics(generate_random({Family::kCholesky, 120}));
  EXPECT_EQ(result.nodes, 120u);  // T = 8
  EXPECT_EQ(result.depth, 3u * 8 - 2);
  EXPECT_EQ(result.sources, 1u);
  EXPECT_EQ(result.sinks, 1u);
}

TEST(RandomFamilies, FftHasTheKnownShape) {
  // m = 8: 15 calls and 3 rounds of 8 butterflies, 39 ops; 14 edges in the tree, 48 after it.
  const Statistics result = compute_statistics(generate_random({Family::kFft, 40}));
  EXPECT_EQ(result.nodes, 39u);
  EXPECT_EQ(result.edges, 14u + 48u);
  EXPECT_EQ(result.depth, 4u + 3u);
  EXPECT_EQ(result.sources, 1u);
  EXPECT_EQ(result.sinks, 8u);
}

TEST(RandomFamilies, ForkJoinAndSeriesParallelHaveOneEntryAndOneExit) {
  for (const Family family : {Family::kForkJoin, Family::kSeriesParallel}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const Statistics result = compute_statistics(generate_random({family, 97, 1.0, seed}));
      EXPECT_EQ(result.sources, 1u);
      EXPECT_EQ(result.sinks, 1u);
    }
  }
}

TEST(RandomFamilies, MeetTheWantedRatioAndTime) {
  for (const Family family : all_families()) {
    for (const double ccr : {0.0, 0.1, 1.0, 10.0}) {
      const Statistics result = compute_statistics(
          generate_random({.family = family, .nodes = 300, .ccr = ccr, .mean_time = 0.25}));
      EXPECT_NEAR(result.ccr.value(), ccr, 1e-9 * ccr) << family_name(family);
      EXPECT_NEAR(result.work.sum / static_cast<double>(result.nodes), 0.25, 1e-12);
    }
  }
}

TEST(RandomFamilies, FlopsAndBytesTellTheSameStoryAsTheTimes) {
  for (const Family family : all_families()) {
    const Graph graph = generate_random({.family = family, .nodes = 300, .ccr = 2.0});
    for (std::size_t v = 0; v < graph.node_count(); ++v) {
      const NodeId node = NodeId::of(v);
      // Times scatter around the work by 5 %; the logarithm of six standard deviations is 0.3.
      EXPECT_NEAR(std::log(*graph.flops(node) / kNominalFlopsPerSecond / *graph.given_time(node)),
                  0.0, 0.3);
      ASSERT_EQ(graph.outputs(node).size(), 1u);
      const TensorId result = graph.outputs(node)[0];
      EXPECT_EQ(graph.bytes_written(node), graph.bytes(result));
      EXPECT_NEAR(*graph.bytes(result), *graph.transfer_time(result) * kNominalLinkBytesPerSecond,
                  0.5);
      double read = 0.0;
      for (const TensorId tensor : graph.inputs(node)) read += *graph.bytes(tensor);
      EXPECT_EQ(graph.bytes_read(node), graph.inputs(node).empty() ? *graph.bytes(result) : read);
    }
  }
}

TEST(RandomFamilies, RepeatThemselvesExactlyAndDifferByASeed) {
  for (const Family family : all_families()) {
    const auto hash = [&](std::uint64_t seed) {
      return generate_random({family, 200, 1.0, seed}).hash();
    };
    EXPECT_EQ(hash(7), hash(7));
    EXPECT_NE(hash(7), hash(8)) << family_name(family);
  }
}

TEST(RandomFamilies, RefuseWhatIsOutOfRange) {
  const auto error = [](RandomSpec spec) {
    return test::error_of<ParameterError>([&] { generate_random(spec); });
  };
  EXPECT_EQ(error({.nodes = 0}), "the number of nodes must be from 1 to 5000000, not 0");
  EXPECT_NE(error({.nodes = kMaxRandomNodes + 1}), "no error");
  EXPECT_EQ(error({.ccr = -1.0}), "the ccr must be a finite number >= 0, not -1");
  EXPECT_NE(error({.ccr = std::numeric_limits<double>::quiet_NaN()}), "no error");
  EXPECT_NE(error({.ccr = std::numeric_limits<double>::infinity()}), "no error");
  EXPECT_NE(error({.mean_time = 0.0}), "no error");
}

TEST(RandomFamilies, AreKnownByName) {
  for (const Family family : all_families()) EXPECT_EQ(family_by_name(family_name(family)), family);
  EXPECT_EQ(test::error_of<ParameterError>([] { family_by_name("tree"); }),
            "unknown family 'tree' (known: layered, fork-join, series-parallel, cholesky, fft)");
}

}  // namespace
}  // namespace doppler::graph
