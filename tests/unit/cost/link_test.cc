#include "doppler/cost/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace doppler::cost {
namespace {

constexpr Link kNominal{.latency_seconds = 1e-6, .bandwidth = 1e9};

void expect_link(const Link& found, const Link& expected) {
  EXPECT_NEAR(found.latency_seconds, expected.latency_seconds, 1e-9 * expected.latency_seconds);
  EXPECT_NEAR(found.bandwidth, expected.bandwidth, 1e-9 * expected.bandwidth);
}

// 3 us + bytes / 2 GB/s.
TEST(FitLink, FindsTheFiguresOfExactTimes) {
  const std::vector<TransferSample> samples{{0, 3e-6}, {4e3, 5e-6}, {1e6, 503e-6}, {8e6, 4003e-6}};
  expect_link(fit_link(kNominal, samples), {3e-6, 2e9});
}

// 5 us for 1000 bytes less 1 us of latency: 4 ns a byte.
TEST(FitLink, OneSizeKeepsTheLatency) {
  expect_link(fit_link(kNominal, std::vector<TransferSample>{{1e3, 5e-6}, {1e3, 5e-6}}),
              {1e-6, 2.5e8});
}

// 1000 and 1001 bytes would give 1 us a byte and a latency of -995 us.
TEST(FitLink, NearlyOneSizeDoesToo) {
  const Link link = fit_link(kNominal, std::vector<TransferSample>{{1000, 5e-6}, {1001, 6e-6}});
  EXPECT_EQ(link.latency_seconds, 1e-6);
  EXPECT_GT(link.bandwidth, 2e8);
  EXPECT_LT(link.bandwidth, 2.5e8);
}

// Nominally 1 + 1 us, measured half of the latency alone: a quarter of both.
TEST(FitLink, LatencyTooLongScalesBoth) {
  expect_link(fit_link(kNominal, std::vector<TransferSample>{{1e3, 0.5e-6}}), {0.25e-6, 4e9});
}

TEST(FitLink, EmptyTensorsTellTheLatencyOnly) {
  expect_link(fit_link(kNominal, std::vector<TransferSample>{{0, 7e-6}, {0, 7e-6}}), {7e-6, 1e9});
}

// The line through both points would start at -2 us. Without a latency, b bytes/s have the relative
// errors 1e9 b - 1 and 5e8 b - 1: least squares at b = 1.5e9 / 1.25e18.
TEST(FitLink, LatencyIsNotNegative) {
  expect_link(fit_link(kNominal, std::vector<TransferSample>{{1e3, 1e-6}, {2e3, 4e-6}}),
              {0.0, 1 / 1.2e-9});
}

// Larger is faster: sizes cost nothing. Latency a has the errors 2.5e5 a - 1 and 1e6 a - 1.
TEST(FitLink, BandwidthIsNotNegative) {
  const Link link = fit_link(kNominal, std::vector<TransferSample>{{1e3, 4e-6}, {2e3, 1e-6}});
  EXPECT_NEAR(link.latency_seconds, 1.25 / 1.0625e6, 1e-15);
  EXPECT_TRUE(std::isinf(link.bandwidth));
}

TEST(FitLink, ADelayHardlyCounts) {
  std::vector<TransferSample> samples;
  for (int i = 1; i <= 20; ++i) samples.push_back({i * 1e4, 2e-6 + i * 1e-5});
  samples.push_back({1e5, 0.01});  // instead of 102 us
  const Link link = fit_link(kNominal, samples);
  EXPECT_NEAR(link.latency_seconds, 2e-6, 2e-7);
  EXPECT_NEAR(link.bandwidth, 1e9, 1e7);
}

TEST(FitLink, NothingMeasuredChangesNothing) {
  EXPECT_EQ(fit_link(kNominal, {}), kNominal);
  EXPECT_EQ(fit_link(kNominal, std::vector<TransferSample>{{0, 0}, {1e3, 0}}), kNominal);
  EXPECT_EQ(fit_link(kNominal, std::vector<TransferSample>{{1e100, 1e-200}, {1e10, 1e-200}}),
            kNominal);
}

}  // namespace
}  // namespace doppler::cost
