// A set of devices as bits, visited in rising order. Internal to sim/.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace doppler::sim {

class DeviceSet {
 public:
  void resize(std::size_t devices) { words_.assign((devices + 63) / 64, 0); }
  void clear() {
    for (std::uint64_t& word : words_) word = 0;
  }
  void insert(std::uint32_t device) { words_[device / 64] |= std::uint64_t{1} << (device % 64); }
  // `visit` must not change the set.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1) {
        visit(
            static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
      }
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace doppler::sim
