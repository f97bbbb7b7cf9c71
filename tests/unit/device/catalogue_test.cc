#include "doppler/device/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace doppler::device {
namespace {

TEST(Catalogue, FiguresArePositiveAndOrdered) {
  for (const CatalogueEntry& entry : catalogue()) {
    const std::string name = kind_name(entry);
    const ProductPeaks& peak = entry.products;
    EXPECT_GE(entry.memory_gib, 8u) << name;
    EXPECT_GT(entry.memory_bandwidth, 1e11) << name;
    EXPECT_GT(entry.peak_flops, 1e12) << name;
    EXPECT_GE(entry.multiprocessors, 1u) << name;
    EXPECT_GT(entry.clock_hz, 5e8) << name;
    EXPECT_LT(entry.clock_hz, 5e9) << name;
    EXPECT_GE(entry.cache_bytes, 1024.0 * 1024.0) << name;
    EXPECT_GT(entry.host.slot.bandwidth, 1e10) << name;
    EXPECT_GT(entry.network.link.bandwidth, 1e10) << name;
    EXPECT_GE(entry.year, 2016) << name;
    EXPECT_LE(entry.year, 2030) << name;
    EXPECT_FALSE(entry.maker.empty()) << name;
    EXPECT_NE(entry.source.find("(20"), std::string::npos) << name << " needs a source with a year";
    // Products never run slower than on the units for everything else.
    EXPECT_GE(peak.f32, entry.peak_flops) << name;
    EXPECT_LE(peak.f64, peak.f32) << name;
    // Narrower types are not slower, where the device has them at all.
    double wider = peak.f32;
    for (const double each : {peak.tf32, std::max(peak.f16, peak.bf16), peak.fp8}) {
      if (each == 0.0) continue;
      EXPECT_GE(each, wider) << name;
      wider = each;
    }
    if (peak.i8 > 0.0) {
      EXPECT_GE(peak.i8, name.starts_with("V100") ? peak.f32 : wider) << name;
    }
    if (peak.f16 > 0.0 && peak.bf16 > 0.0) {
      EXPECT_EQ(peak.f16, peak.bf16) << name;
    }
  }
}

// Rates of the units that are not for matrices follow from what is built in: multiprocessors, lanes
// of f32, two operations for a fused multiplication and addition, clock.
TEST(Catalogue, PeaksAgreeWithMultiprocessorsAndClock) {
  const std::map<std::string, double> lanes = {
      {"P100", 64},       {"V100", 64},     {"T4", 64},     {"RTX2080Ti", 64}, {"A100", 64},
      {"A100-PCIe", 64},  {"A30", 64},      {"MI250X", 64}, {"MI210", 64},     {"MI300X", 128},
      {"TPUv4", 16 * 64}, {"TPUv5e", 2048}, {"CPU", 2 * 8},
  };
  for (const CatalogueEntry& entry : catalogue()) {
    const auto found = lanes.find(std::string(entry.name));
    const double per_cycle = 2.0 * (found == lanes.end() ? 128.0 : found->second);
    EXPECT_NEAR(entry.multiprocessors * per_cycle * entry.clock_hz / entry.peak_flops, 1.0, 0.03)
        << kind_name(entry);
  }
}

TEST(Catalogue, EntriesAreGroupedByMakerAndYear) {
  std::vector<std::string_view> makers;
  const CatalogueEntry* before = nullptr;
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.device_class == DeviceClass::kCpu) continue;
    names.push_back(kind_name(entry));
    if (makers.empty() || makers.back() != entry.maker) {
      EXPECT_EQ(std::count(makers.begin(), makers.end(), entry.maker), 0) << entry.name;
      makers.push_back(entry.maker);
    } else {
      EXPECT_GE(entry.year, before->year) << entry.name;
      // The size that a name without one means comes first.
      if (entry.name == before->name) {
        EXPECT_LT(entry.memory_gib, before->memory_gib) << entry.name;
      }
    }
    before = &entry;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(Catalogue, KindsCarryTheFiguresOfTheirEntry) {
  const auto entry = std::find_if(catalogue().begin(), catalogue().end(),
                                  [](const auto& each) { return each.name == "H100"; });
  const DeviceKind kind = catalogue_kind(*entry);
  EXPECT_EQ(kind.peak_flops, 67e12);
  ASSERT_TRUE(kind.hardware);
  EXPECT_EQ(kind.hardware->product_peak(ElementType::kFp8), 1978.9e12);
  EXPECT_EQ(kind.hardware->product_peak(ElementType::kTf32), 494.7e12);
  EXPECT_EQ(kind.hardware->product_peak(ElementType::kI64), 0.0);
  EXPECT_EQ(kind.hardware->multiprocessors, 132u);
  EXPECT_EQ(host_entry().name, "CPU");
  const DeviceKind host = catalogue_kind(host_entry());
  EXPECT_EQ(host.device_class, DeviceClass::kCpu);
  EXPECT_EQ(host.peak_flops, 9.2e12);
  EXPECT_FALSE(host.hardware);
  // 128 cores together reach half of what one is assumed to reach.
  EXPECT_EQ(host.efficiency("MatMul").of_large().compute, 0.375);
  EXPECT_EQ(host.launch_overhead_seconds, 10e-6);
}

// On GeForce cards f16 with f32 accumulation runs at half the rate of professional cards with the
// same chip.
TEST(Catalogue, GeForceAccumulatesAtHalfTheRate) {
  const auto ratio = [](std::string_view name) {
    for (const CatalogueEntry& entry : catalogue()) {
      if (entry.name == name) return entry.products.f16 / entry.peak_flops;
    }
    return 0.0;
  };
  for (const auto& [geforce, professional] :
       {std::pair{"RTX3090", "A40"}, {"RTX4090", "L40S"}, {"RTX2080Ti", "T4"}}) {
    EXPECT_NEAR(2.0 * ratio(geforce) / ratio(professional), 1.0, 0.02) << geforce;
  }
}

TEST(Catalogue, LinksInWords) {
  std::map<std::string, std::string> words;
  for (const CatalogueEntry& entry : catalogue()) words[kind_name(entry)] = link_words(entry);
  EXPECT_EQ(words["A100"], "NVLink 3 switch 300");
  EXPECT_EQ(words["V100"], "NVLink 2 mesh 50");
  EXPECT_EQ(words["A40"], "NVLink 3 pairs 56.25");
  EXPECT_EQ(words["MI210"], "Infinity Fabric fours 50");
  EXPECT_EQ(words["TPUv4"], "ICI 6 x 50");
  EXPECT_EQ(words["RTX4090"], "PCIe 4 through the host");
  EXPECT_EQ(words["L4"], "PCIe 4");
}

}  // namespace
}  // namespace doppler::device
