// Seeded random numbers with the same bits on every platform and standard library.
//
// Rng is xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators",
// 2021), seeded through splitmix64. Not thread safe: give each chain or run its own, made with
// Rng::stream so that neighbouring seeds and streams are unrelated.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace doppler {

// Returns the bits mixed by a bijection (the finaliser of splitmix64).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

class Rng {
 public:
  using result_type = std::uint64_t;

  explicit Rng(std::uint64_t seed) {
    for (auto& word : state_) word = seed = mix64(seed);
  }

  // Returns an independent generator for part `stream` of the work with seed `seed`.
  static Rng stream(std::uint64_t seed, std::uint64_t stream) {
    return Rng(mix64(seed) ^ mix64(~stream));
  }

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  result_type operator()() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Returns a uniform number in [0, n). REQUIRES: n > 0. The bias of the multiply-shift is below
  // n / 2^32.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>((((*this)() >> 32) * n) >> 32);
  }

  // Returns a uniform number in [0, 1), or in [low, high).
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  bool chance(double probability) { return uniform() < probability; }

  // Returns a standard normal number (Box-Muller, of which one number of each pair is used).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(6.283185307179586476925 * uniform());
  }

  template <class Sequence>
  void shuffle(Sequence& sequence) {
    for (std::size_t i = sequence.size(); i > 1; --i) {
      std::swap(sequence[i - 1], sequence[below(static_cast<std::uint32_t>(i))]);
    }
  }

 private:
  std::uint64_t state_[4];
};

}  // namespace doppler
