// Csr, rows of varying length in two flat arrays (compressed sparse rows). Immutable once built, so
// threads share it freely. Holds at most 2^32 - 1 values.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace doppler {

// Views that it returns are valid as long as the object. Indices are not checked.
template <class T>
class Csr {
 public:
  Csr() : offsets_{0} {}
  // REQUIRES: offsets starts with 0, does not fall, and ends with values.size().
  Csr(std::vector<std::uint32_t> offsets, std::vector<T> values)
      : offsets_(std::move(offsets)), values_(std::move(values)) {}

  std::size_t rows() const { return offsets_.size() - 1; }
  std::size_t size() const { return values_.size(); }
  std::span<const T> operator[](std::size_t row) const {
    return {values_.data() + offsets_[row], offsets_[row + 1] - offsets_[row]};
  }
  // Returns the position of a row's first value in values().
  std::uint32_t offset(std::size_t row) const { return offsets_[row]; }
  std::span<const T> values() const { return values_; }

  // Builds rows from pairs (row, value). for_each_pair(visit) is called twice and must call
  // visit(row, value) for the same pairs in the same order both times; values keep that order
  // inside a row.
  template <class ForEachPair>
  static Csr build(std::size_t rows, const ForEachPair& for_each_pair) {
    std::vector<std::uint32_t> offsets(rows + 1, 0);
    for_each_pair([&](std::size_t row, const T&) { ++offsets[row + 1]; });
    for (std::size_t row = 0; row < rows; ++row) offsets[row + 1] += offsets[row];
    std::vector<T> values(offsets[rows]);
    std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
    for_each_pair([&](std::size_t row, const T& value) { values[next[row]++] = value; });
    return Csr(std::move(offsets), std::move(values));
  }

 private:
  std::vector<std::uint32_t> offsets_;
  std::vector<T> values_;
};

}  // namespace doppler
