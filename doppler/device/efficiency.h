// The shares of a device's peaks that kernels of one op kind reach, over how large a kernel is:
// small work stays in caches, large work does not, and products of small matrices are slower than
// those of large ones.
//
// Plain values; freely shared between threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace doppler::device {

struct Efficiency {
  double compute = 1.0;  // of peak_flops, in (0, 1]
  double memory = 1.0;   // of memory_bandwidth, in (0, 1]

  friend bool operator==(const Efficiency&, const Efficiency&) = default;
};

// What says how large a kernel is.
enum class SizeKey : std::uint8_t {
  kBytes,         // read and written: caches
  kFlopsPerByte,  // the sizes of the matrices that are multiplied, whatever their number
};
std::string_view size_key_name(SizeKey key);  // "bytes", "flops_per_byte", as files have it

struct EfficiencyPoint {
  double size = 0.0;  // as the table's key has it, above 0; 0 in the only point of a constant
  Efficiency efficiency = {};
  // Of what was measured: the distance of the quartiles as a share of the median. For people.
  double spread = 0.0;

  friend bool operator==(const EfficiencyPoint&, const EfficiencyPoint&) = default;
};

// Efficiencies at some sizes, rising. Between two of them efficiencies are interpolated, both in
// the logarithms (a time then grows with a constant power of the size); beyond the first and the
// last they stay.
struct EfficiencyTable {
  EfficiencyTable() : EfficiencyTable(Efficiency{}) {}
  // The same for every size.
  EfficiencyTable(const Efficiency& efficiency) : points{{.efficiency = efficiency}} {}
  EfficiencyTable(SizeKey size_key, std::vector<EfficiencyPoint> at_sizes)
      : key(size_key), points(std::move(at_sizes)) {}

  bool is_constant() const { return points.size() == 1; }
  Efficiency at(double size) const;
  // Of a kernel with so much to do. Where what the key needs is not known: that of large kernels.
  Efficiency of(std::optional<double> flops, std::optional<double> bytes) const;
  const Efficiency& of_large() const { return points.back().efficiency; }

  SizeKey key = SizeKey::kBytes;
  std::vector<EfficiencyPoint> points;  // never empty; Topology checks the rest

  friend bool operator==(const EfficiencyTable&, const EfficiencyTable&) = default;
};

}  // namespace doppler::device
