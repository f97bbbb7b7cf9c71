#include "doppler/device/topology.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "support/errors.h"

namespace doppler::device {
namespace {

// 0.1 at 1e3, 0.4 at 1e5 and 0.05 at 1e6.
EfficiencyTable three_points(SizeKey key) {
  return EfficiencyTable(key, {{.size = 1e3, .efficiency = {.compute = 1.0, .memory = 0.1}},
                               {.size = 1e5, .efficiency = {.compute = 0.5, .memory = 0.4}},
                               {.size = 1e6, .efficiency = {.compute = 0.5, .memory = 0.05}}});
}

TEST(Efficiency, IsInterpolatedInLogarithmsAndStaysBeyondTheEnds) {
  const EfficiencyTable table = three_points(SizeKey::kBytes);
  EXPECT_EQ(table.at(1e3).memory, 0.1);
  EXPECT_EQ(table.at(1e5).memory, 0.4);
  // Half of the way from 1e3 to 1e5 in the logarithm: sqrt(0.1 x 0.4) and sqrt(1 x 0.5).
  EXPECT_DOUBLE_EQ(table.at(1e4).memory, 0.2);
  EXPECT_DOUBLE_EQ(table.at(1e4).compute, std::sqrt(0.5));
  // A third of the way from 1e5 to 1e6: 0.4 x (0.05 / 0.4)^(1/3) = 0.2.
  EXPECT_NEAR(table.at(1e5 * std::cbrt(10.0)).memory, 0.2, 1e-12);
  EXPECT_EQ(table.at(1e5 * std::cbrt(10.0)).compute, 0.5);
  EXPECT_EQ(table.at(0.0).memory, 0.1);
  EXPECT_EQ(table.at(1.0).memory, 0.1);
  EXPECT_EQ(table.at(1e12).memory, 0.05);
}

TEST(Efficiency, TheKeySaysWhatASizeIs) {
  EXPECT_DOUBLE_EQ(three_points(SizeKey::kBytes).of(1e9, 1e4).memory, 0.2);
  EXPECT_EQ(three_points(SizeKey::kFlopsPerByte).of(1e9, 1e4).memory, 0.4);
  EXPECT_EQ(three_points(SizeKey::kFlopsPerByte).of(0.0, 1e4).memory, 0.1);
  // What is not known is taken to be large.
  EXPECT_EQ(three_points(SizeKey::kBytes).of(1e9, std::nullopt).memory, 0.05);
  EXPECT_EQ(three_points(SizeKey::kFlopsPerByte).of(std::nullopt, 1e4).memory, 0.05);
  EXPECT_EQ(three_points(SizeKey::kFlopsPerByte).of(1e4, 0.0).memory, 0.05);
}

TEST(Efficiency, OneForAllSizes) {
  const EfficiencyTable table(Efficiency{.compute = 0.25, .memory = 0.75});
  EXPECT_TRUE(table.is_constant());
  for (const double size : {0.0, 1.0, 1e9}) {
    EXPECT_EQ(table.at(size), (Efficiency{.compute = 0.25, .memory = 0.75}));
  }
  EXPECT_EQ(table.of_large(), table.at(1.0));
  EXPECT_EQ(EfficiencyTable().at(1.0), Efficiency{});
}

std::string table_error(EfficiencyTable table) {
  TopologySpec spec;
  spec.kinds.push_back({.name = "k", .efficiency_by_op = {{"add", std::move(table)}}});
  spec.devices.push_back({.name = "a"});
  return test::error_of([&] { Topology{spec}; });
}

TEST(Efficiency, TopologiesRefuseBadTables) {
  const auto table = [](double size, double next, double memory, double spread = 0.0) {
    return EfficiencyTable(
        SizeKey::kBytes,
        {{.size = size, .efficiency = {}},
         {.size = next, .efficiency = {.compute = 1.0, .memory = memory}, .spread = spread}});
  };
  EXPECT_EQ(table_error(table(1.0, 2.0, 1.0)), "no error");
  EXPECT_EQ(table_error(EfficiencyTable(SizeKey::kBytes, {})),
            "device kind 'k', op kind 'add': an efficiency without any size");
  for (const double bad : {0.0, -1.0, 1.5, std::nan("")}) {
    EXPECT_EQ(table_error(table(1.0, 2.0, bad)),
              "device kind 'k', op kind 'add': an efficiency must be above 0 and at most 1");
  }
  EXPECT_EQ(table_error(table(2.0, 2.0, 1.0)),
            "device kind 'k', op kind 'add': the bytes of efficiencies must be positive and rise");
  EXPECT_EQ(table_error(table(0.0, 2.0, 1.0)),
            "device kind 'k', op kind 'add': the bytes of efficiencies must be positive and rise");
  EXPECT_EQ(table_error(table(1.0, 2.0, 1.0, -0.5)),
            "device kind 'k', op kind 'add': a spread must be a finite number >= 0");
}

}  // namespace
}  // namespace doppler::device
