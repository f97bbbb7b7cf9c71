// The published network: its features, its classes of nodes, and its gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "doppler/graph/builder.h"
#include "doppler/place/cost_estimates.h"
#include "doppler/policy/dual/episode_sampler.h"
#include "doppler/policy/dual/published_features.h"
#include "doppler/policy/dual/published_network.h"
#include "support/finite_differences.h"
#include "support/graphs.h"
#include "support/random_problems.h"

namespace doppler::policy {
namespace {

using ::testing::FloatEq;
using ::testing::Pointwise;

std::span<const float> row_of(const PublishedChoices& choices, std::size_t device) {
  return choices.features().subspan(device * kChoiceFeatures, kPublishedChoices);
}

// a and b (2 and 3) both feed c (1), transfers take 4. The critical path is b, transfer, c: 8. The
// compute time is 6, 3 for each of two devices. So all times are over 8.
TEST(PublishedChoices, AreTheFiveOfThePaper) {
  const auto problem = test::uniform_problem(
      test::simple_graph({{"a", 2.0}, {"b", 3.0}, {"c", 1.0}}, {{"a", "c"}, {"b", "c"}}, 4.0), 2,
      cost::LinkMode::kFree);
  const NodeFeatures nodes(*problem);
  PublishedChoices choices(nodes);
  choices.begin();
  choices.evaluate(NodeId(0));
  // Nothing is placed: a could start at once anywhere, and has no producers.
  for (std::size_t d = 0; d < 2; ++d) {
    EXPECT_THAT(row_of(choices, d), Pointwise(FloatEq(), {0.0f, 0.0f, 0.0f, 0.0f, 0.0f}));
  }
  choices.place(NodeId(0), DeviceId(0));
  choices.evaluate(NodeId(1));
  // b could start on d0 once a has ended. It has no producers there, so their times are its own.
  EXPECT_THAT(row_of(choices, 0), Pointwise(FloatEq(), {0.25f, 0.0f, 0.25f, 0.25f, 0.25f}));
  EXPECT_THAT(row_of(choices, 1), Pointwise(FloatEq(), {0.0f, 0.0f, 0.0f, 0.0f, 0.0f}));
  choices.place(NodeId(1), DeviceId(0));
  choices.evaluate(NodeId(2));
  // On d0 both producers ran, from 0 to 5. On d1 their results arrive at 6 and 9.
  EXPECT_THAT(row_of(choices, 0), Pointwise(FloatEq(), {0.625f, 0.625f, 0.0f, 0.625f, 0.625f}));
  EXPECT_THAT(row_of(choices, 1), Pointwise(FloatEq(), {0.0f, 0.0f, 1.125f, 1.125f, 1.125f}));
}

// Four equal chains of two nodes that end in one sum: its neighbours tell the nodes apart by their
// depth alone.
TEST(PublishedGraph, PutsEqualNodesIntoOneClass) {
  std::vector<test::TestNode> names = {{"sum", 1.0}};
  std::vector<test::TestEdge> edges;
  for (const char* chain : {"a", "b", "c", "d"}) {
    const std::string first = std::string(chain) + "1", second = std::string(chain) + "2";
    names.push_back({first, 2.0});
    names.push_back({second, 2.0});
    edges.push_back({first, second});
    edges.push_back({second, "sum"});
  }
  const auto problem =
      test::uniform_problem(test::simple_graph(names, edges, 1.0), 2, cost::LinkMode::kFree);
  const NodeFeatures nodes(*problem);
  const PublishedGraph graph(nodes, 6);
  EXPECT_EQ(graph.class_count(), 3u);
  ASSERT_EQ(graph.edges().size(), 1u);  // all communication takes the same time
  EXPECT_EQ(graph.edges()[0].value, 1.0);
}

// A chain with 400 different communication times, from 1/400 of the largest to 1: more than there
// may be matrices, so that they are rounded to the 256 steps, each of which is next to one of them.
TEST(PublishedGraph, RoundsTooManyDifferentTimes) {
  graph::GraphBuilder builder;
  NodeId last = builder.add_node({.name = "n0", .time = 1.0});
  for (int i = 1; i <= 400; ++i) {
    const TensorId sent = builder.add_output(last, std::nullopt, static_cast<double>(i));
    last = builder.add_node({.name = "n" + std::to_string(i), .time = 1.0});
    builder.connect(sent, last);
  }
  const auto problem = test::uniform_problem(std::move(builder).build(), 2, cost::LinkMode::kFree);
  const NodeFeatures nodes(*problem);
  const PublishedGraph graph(nodes, 0);
  std::set<double> values;
  for (const nn::EdgeGroup& group : graph.edges()) values.insert(group.value);
  std::set<double> steps;
  for (int i = 1; i <= 256; ++i) steps.insert(i / 256.0);
  EXPECT_EQ(values, steps);
}

// The network over classes gives every node what messages that pass from node to node give it.
TEST(PublishedNetwork, GivesNodesOfAClassWhatEachWouldGet) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    // Integer costs and few edges, so that there are classes of several nodes.
    const auto problem = test::uniform_problem(
        test::random_graph({.nodes = 14, .edge_probability = 0.15, .integer_costs = true}, seed), 3,
        cost::LinkMode::kFree);
    const NodeFeatures nodes(*problem);
    constexpr std::size_t kWidth = 3, kRounds = 2;
    nn::ParameterTable table;
    const nn::GatedMessages messages(table, "m", kWidth, 5, kRounds);
    const std::vector<double> parameters = test::random_parameters(table, seed);
    const PublishedGraph graph(nodes, kRounds);
    const auto start = [](std::span<const float> features, std::size_t j) {
      return std::tanh(features[j] + 0.3 * features[3] - 0.2 * features[4]);
    };
    const auto features_of = [&](std::size_t c) {
      return std::span<const float>(graph.features().row(static_cast<Eigen::Index>(c)).data(),
                                    kPublishedFeatures);
    };
    nn::GatedTrace<double> by_class;
    by_class.embeddings.resize(1);
    by_class.embeddings[0].resize(static_cast<Eigen::Index>(graph.class_count()), kWidth);
    for (std::size_t c = 0; c < graph.class_count(); ++c) {
      for (std::size_t j = 0; j < kWidth; ++j) {
        by_class.embeddings[0](static_cast<Eigen::Index>(c), static_cast<Eigen::Index>(j)) =
            start(features_of(c), j);
      }
    }
    messages.run<double>(parameters, graph.edges(), by_class);

    // Every edge in a group of its own, from node to node and back.
    const place::MeanCosts costs(*problem);
    double longest = 0.0;
    for (const auto& edge : problem->edges()) longest = std::max(longest, costs.transfer(edge));
    std::vector<nn::EdgeGroup> edges;
    for (const auto& edge : problem->edges()) {
      const NodeId producer = problem->graph().producer(edge.tensor);
      if (!producer.valid()) continue;
      const double value = static_cast<float>(longest > 0.0 ? costs.transfer(edge) / longest : 0.0);
      for (const auto& [from, to] :
           {std::pair(producer, edge.consumer), std::pair(edge.consumer, producer)}) {
        edges.push_back(
            {value, {to.value()}, Csr<nn::Incoming>({0, 1}, {nn::Incoming{from.value(), 1}})});
      }
    }
    nn::GatedTrace<double> by_node;
    by_node.embeddings.resize(1);
    by_node.embeddings[0].resize(static_cast<Eigen::Index>(nodes.node_count()), kWidth);
    for (std::size_t v = 0; v < nodes.node_count(); ++v) {
      for (std::size_t j = 0; j < kWidth; ++j) {
        by_node.embeddings[0](static_cast<Eigen::Index>(v), static_cast<Eigen::Index>(j)) =
            start(features_of(graph.class_of()[v]), j);
      }
    }
    messages.run<double>(parameters, edges, by_node);
    for (std::size_t v = 0; v < nodes.node_count(); ++v) {
      const auto expected = by_node.embeddings.back().row(static_cast<Eigen::Index>(v));
      const auto found = by_class.embeddings.back().row(graph.class_of()[v]);
      EXPECT_LT((expected - found).cwiseAbs().maxCoeff(), 1e-12) << "node " << v;
    }
  }
}

// Both policies as a whole, with respect to every parameter, on problems of all sorts.
TEST(PublishedNetwork, GradientsAreThoseOfFiniteDifferences) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const auto problem = test::random_problem(2 + 2 * seed, seed);
    const NodeFeatures nodes(*problem);
    const PublishedNetwork network({.width = 2, .rounds = seed % 3});
    const PublishedGraph graph(nodes, network.shape().rounds);
    std::vector<double> parameters = test::random_parameters(network.parameters(), seed);
    EpisodeSampler<double, PublishedChoices> sampler(nodes, PublishedChoices(nodes));
    Episode episode;
    {
      PublishedEncoded<double> encoded;
      network.encode<double>(parameters, nodes, graph, encoded);
      Rng rng(seed);
      sampler.sample(encoded, SamplingSettings::kSample, rng, episode);
    }
    const LossWeights weights{.sel = 0.7, .plc = -1.3, .entropy = seed % 2 == 0 ? 0.9 : 0.0};
    const auto loss = [&](std::vector<double>* gradients) {
      PublishedEncoded<double> encoded;
      network.encode<double>(parameters, nodes, graph, encoded);
      EpisodeGradients<double> d_episode;
      d_episode.clear(nodes.node_count(), network.shape().width);
      const LogProbability log = sampler.learn(encoded, episode, weights, nullptr, d_episode);
      if (gradients) {
        network.add_gradients<double>(parameters, nodes, graph, encoded, d_episode, *gradients);
      }
      return -weights.sel * log.sel - weights.plc * log.plc - weights.entropy * log.entropy;
    };
    test::expect_gradients(parameters, loss);
  }
}

// The published networks have 2.25 million parameters each.
TEST(PublishedNetwork, HasThePublishedSize) {
  const PublishedNetwork network({.width = 128, .rounds = 6});
  EXPECT_NEAR(static_cast<double>(network.parameters().size()), 2 * 2.25e6, 0.1e6);
}

}  // namespace
}  // namespace doppler::policy
