#include "doppler/kernel/cpu/strided_copy.h"

#include <cstring>

#include "doppler/kernel/cpu/runnable.h"

namespace doppler::kernel::cpu {

StridedCopy::StridedCopy(const LoopNest<2>& nest) : rows_(nest) {
  const auto loops = nest.loops();
  if (nest.empty() || loops.size() < 2 || loops.back().strides[1] <= 1) return;
  for (std::size_t l = 0; l + 1 < loops.size(); ++l) {
    if (loops[l].strides[1] != 1) continue;
    across_ = Across{.out = loops.back(), .in = loops[l]};
    rows_ = {};
    for (std::size_t other = 0; other + 1 < loops.size(); ++other) {
      if (other != l) rows_.add(loops[other].size, loops[other].strides);
    }
    return;
  }
}

namespace {

// The bytes that every processor of the architecture moves by one instruction.
constexpr std::size_t kRegister = 16;
constexpr std::size_t kStep = 4 * kRegister;  // a cache line
// The size up to which memcpy is used: C libraries copy so few bytes through registers themselves,
// and through wider ones where the processor has them.
constexpr std::size_t kShort = 1024;

struct Register {
  typedef unsigned char Bytes __attribute__((vector_size(kRegister)));
  Bytes bytes;

  static Register load(const char* from) {
    Register result;
    std::memcpy(&result.bytes, from, kRegister);  // of a fixed size: one instruction
    return result;
  }
  void store(char* to) const { std::memcpy(to, &bytes, kRegister); }
};

// Copies a cache line at a time through registers. Compilers replace loops that copy one element at
// a time by memcpy, but not this one, where a step is several loads before several stores.
void copy_bytes(const char* from, char* to, std::size_t bytes) {
  if (bytes <= kShort) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return;
  }
  for (; bytes >= kStep; bytes -= kStep, from += kStep, to += kStep) {
    const Register a = Register::load(from), b = Register::load(from + kRegister),
                   c = Register::load(from + 2 * kRegister),
                   d = Register::load(from + 3 * kRegister);
    a.store(to);
    b.store(to + kRegister);
    c.store(to + 2 * kRegister);
    d.store(to + 3 * kRegister);
  }
  if (bytes > 0) std::memcpy(to, from, bytes);  // less than a line
}

template <class T>
void copy(const T* from, T* to, std::size_t count) {
  copy_bytes(reinterpret_cast<const char*>(from), reinterpret_cast<char*>(to), count * sizeof(T));
}

}  // namespace

void copy_elements(const float* from, float* to, std::size_t count) {
  copy(from, to, count);
}

void copy_elements(const double* from, double* to, std::size_t count) {
  copy(from, to, count);
}

}  // namespace doppler::kernel::cpu
