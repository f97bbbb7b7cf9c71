#include "doppler/cost/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/base/rng.h"
#include "doppler/device/spec.h"
#include "doppler/graph/builder.h"

namespace doppler::cost {
namespace {

// Six nodes of kinds "x" and "y" with outputs of a MB, on four P100.
std::shared_ptr<const Problem> problem() {
  graph::GraphBuilder builder;
  for (int i = 0; i < 6; ++i) {
    const NodeId node =
        builder.add_node({.name = "n" + std::to_string(i), .op = i < 3 ? "x" : "y", .flops = 1e9});
    builder.add_output(node, 1e6);
  }
  return std::make_shared<const Problem>(
      std::make_shared<const graph::Graph>(std::move(builder).build()),
      std::make_shared<const device::Topology>(device::topology_from_spec("4xP100")));
}

// Every node on the device that `where` says, taking `ratio` of what the tables say.
Observations run(const Problem& problem, const std::vector<std::size_t>& where,
                 const std::function<double(std::size_t node, std::size_t device)>& ratio) {
  Observations seen;
  for (std::size_t v = 0; v < where.size(); ++v) {
    const DeviceId device = DeviceId::of(where[v]);
    seen.nodes.push_back(
        {NodeId::of(v), device, problem.compute_time(NodeId::of(v), device) * ratio(v, where[v])});
  }
  return seen;
}

double factor(const Corrections& c, std::size_t node, std::size_t device) {
  return c.node[node * 4 + device];
}

TEST(Calibration, BelievesTheTablesAtFirst) {
  const Calibration calibration(problem());
  const Corrections corrections = calibration.corrections();
  for (const double f : corrections.node) EXPECT_EQ(f, 1.0);
  for (const double f : corrections.transfer) EXPECT_EQ(f, 1.0);
  EXPECT_NE(calibration.problem()->hash(), 0u);
}

// Nodes of kind x take twice as long, whoever runs them: so they do on devices where none ran.
TEST(Calibration, GeneralisesOverKinds) {
  const auto p = problem();
  Calibration calibration(p);
  for (int i = 0; i < 30; ++i) {
    calibration.add(
        run(*p, {0, 0, 1, 0, 1, 1}, [](std::size_t v, std::size_t) { return v < 3 ? 2.0 : 1.0; }));
  }
  const Corrections found = calibration.corrections();
  EXPECT_NEAR(factor(found, 0, 0), 2.0, 0.1);
  EXPECT_NEAR(factor(found, 0, 3), 2.0, 0.4);
  EXPECT_NEAR(factor(found, 4, 1), 1.0, 0.05);
  EXPECT_NEAR(factor(found, 4, 3), 1.0, 0.2);
  const auto corrected = calibration.problem();
  EXPECT_DOUBLE_EQ(corrected->compute_time(NodeId(0), DeviceId(2)),
                   p->compute_time(NodeId(0), DeviceId(2)) * factor(found, 0, 2));
  EXPECT_NE(corrected->hash(), p->hash());
}

// Device 1 takes three times as long, whatever it runs.
TEST(Calibration, TellsASlowDevice) {
  const auto p = problem();
  Calibration calibration(p);
  for (int i = 0; i < 30; ++i) {
    calibration.add(
        run(*p, {0, 1, 0, 1, 0, 1}, [](std::size_t, std::size_t d) { return d == 1 ? 3.0 : 1.0; }));
  }
  const Corrections found = calibration.corrections();
  EXPECT_GT(factor(found, 0, 1), 2.0);  // never ran there
  EXPECT_NEAR(factor(found, 1, 1), 3.0, 0.2);
  EXPECT_LT(factor(found, 1, 0), 1.5);  // never ran there either: some of it may be the node's
}

// One run says little, many say it.
TEST(Calibration, IsDrawnTowardsTheTables) {
  const auto p = problem();
  Calibration calibration(p);
  const auto twice = [](std::size_t, std::size_t) { return 2.0; };
  calibration.add(run(*p, {0, 0, 0, 0, 0, 0}, twice));
  const double once = factor(calibration.corrections(), 0, 0);
  for (int i = 0; i < 14; ++i) calibration.add(run(*p, {0, 0, 0, 0, 0, 0}, twice));
  const double often = factor(calibration.corrections(), 0, 0);
  EXPECT_GT(once, 1.2);
  EXPECT_LT(once, often);
  EXPECT_NEAR(often, 2.0, 0.05);
}

// A machine that stands still in one run of eight, a hundred times as long.
TEST(Calibration, IsNotPoisonedBySpikes) {
  const auto p = problem();
  Calibration calibration(p);
  for (int i = 0; i < 60; ++i) {
    calibration.add(run(*p, {0, 1, 2, 3, 0, 1}, [&](std::size_t v, std::size_t) {
      return i % 8 == 0 ? 100.0 : 1.0 + 0.01 * static_cast<double>((i + static_cast<int>(v)) % 3);
    }));
  }
  for (std::size_t v = 0; v < 6; ++v) {
    EXPECT_NEAR(factor(calibration.corrections(), v, v % 4), 1.01, 0.03) << v;
  }
  EXPECT_EQ(calibration.changes(), 0u);
}

TEST(Calibration, NoticesADeviceThatSlowsDown) {
  const auto p = problem();
  Calibration calibration(p);
  for (int i = 0; i < 100; ++i) {
    calibration.add(run(*p, {0, 1, 2, 3, 0, 1}, [](std::size_t, std::size_t) { return 1.0; }));
  }
  for (int i = 0; i < 20; ++i) {
    calibration.add(
        run(*p, {0, 1, 2, 3, 0, 1}, [](std::size_t, std::size_t d) { return d == 1 ? 2.0 : 1.0; }));
  }
  EXPECT_EQ(calibration.changes(), 1u);
  const Corrections found = calibration.corrections();
  EXPECT_NEAR(factor(found, 1, 1), 2.0, 0.2);
  EXPECT_NEAR(factor(found, 0, 0), 1.0, 0.05);
}

// Three measurements are known, and each of the five that follow is ten times the one before, up to
// the largest that is believed: with the fifth the device, or the link, counts as changed.
TEST(Calibration, NoticesAChangeOnceThreeRunsAreKnownAndFiveDiffer) {
  const auto p = problem();
  Calibration of_nodes(p), of_links(p);
  const DeviceId from(0), to(1);
  const double expected = p->transfer_time(true, 1e6, from, to);
  const std::vector<double> ratios{1, 1, 1, 1e1, 1e2, 1e3, 1e4, 1e4};
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    EXPECT_EQ(of_nodes.changes(), 0u) << i;
    EXPECT_EQ(of_links.changes(), 0u) << i;
    of_nodes.add(run(*p, {0}, [&](std::size_t, std::size_t) { return ratios[i]; }));
    of_links.add({.transfers = {{TensorId(0), from, to, expected * ratios[i]}}});
  }
  EXPECT_EQ(of_nodes.changes(), 1u);
  EXPECT_EQ(of_links.changes(), 1u);
}

TEST(Calibration, LearnsLinks) {
  const auto p = problem();
  Calibration calibration(p);
  for (int i = 0; i < 30; ++i) {
    Observations seen;
    for (std::size_t t = 0; t < 4; ++t) {
      const TensorId tensor = TensorId::of(t);
      const DeviceId from(0), to = DeviceId::of(1 + t % 2);
      const double expected = p->transfer_time(true, 1e6, from, to);
      seen.transfers.push_back({tensor, from, to, expected * (to == DeviceId(1) ? 4.0 : 1.0)});
    }
    calibration.add(seen);
  }
  const Corrections found = calibration.corrections();
  EXPECT_NEAR(found.transfer[0 * 4 + 1], 4.0, 0.6);
  EXPECT_NEAR(found.transfer[0 * 4 + 2], 1.0, 0.2);
  EXPECT_EQ(found.transfer[0], 1.0);
  const auto corrected = calibration.problem();
  EXPECT_NEAR(corrected->transfer_time(true, 1e6, DeviceId(0), DeviceId(1)),
              p->transfer_time(true, 1e6, DeviceId(0), DeviceId(1)) * found.transfer[1], 1e-12);
}

TEST(Calibration, IgnoresWhatSaysNothing) {
  const auto p = problem();
  Calibration calibration(p);
  calibration.add({.nodes = {{NodeId(0), DeviceId(0), 0.0},
                             {NodeId(1), DeviceId(0), -1.0},
                             {NodeId(2), DeviceId(0), std::nan("")},
                             {NodeId(3), DeviceId(0), kInfinity}},
                   .transfers = {{TensorId(0), DeviceId(0), DeviceId(1), 0.0}}});
  for (const double f : calibration.corrections().node) EXPECT_EQ(f, 1.0);
}

TEST(Calibration, IsTheSameAfterACheckpoint) {
  const auto p = problem();
  Calibration calibration(p), other(p);
  Rng rng(7);
  const auto noisy = [&](std::size_t, std::size_t) { return std::exp(0.3 * rng.normal()); };
  for (int i = 0; i < 40; ++i) calibration.add(run(*p, {0, 1, 2, 3, 0, 1}, noisy));
  const std::vector<double> state = calibration.state();
  other.restore(state);
  EXPECT_EQ(other.state(), state);
  const Observations next = run(*p, {3, 2, 1, 0, 3, 2}, noisy);
  calibration.add(next);
  other.add(next);
  EXPECT_EQ(other.corrections().node, calibration.corrections().node);
  for (std::size_t cut = 0; cut < state.size(); cut += 7) {
    EXPECT_THROW(other.restore(std::span(state).first(cut)), InputError);
  }
  std::vector<double> damaged = state;
  damaged[3] = 1e9;  // a node that does not exist
  EXPECT_THROW(other.restore(damaged), InputError);
}

}  // namespace
}  // namespace doppler::cost
