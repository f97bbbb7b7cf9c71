// The functions of the unary kernels with their first and second derivatives, and the maximum that
// several kernels share. All are pure and work for float and double.
#pragma once

#include <cmath>

namespace doppler::kernel::cpu {

// Returns the larger of two numbers, or a NaN if either is one. Has no branch, which data would
// make mispredicted.
template <class T>
T larger(T a, T b) {
  return (a > b) | (a != a) ? a : b;
}

struct Exp {
  // Results that round to 0 are not left to the library, which takes several times as long for
  // them: half of the operands of masked attention are such.
  template <class T>
  static T value(T x) {
    constexpr T kLeast = sizeof(T) == sizeof(float) ? T(-104) : T(-746);
    return x < kLeast ? T{0} : std::exp(x);
  }
  static auto first(auto x) { return value(x); }
  static auto second(auto x) { return value(x); }
};

struct Log {
  static auto value(auto x) { return std::log(x); }
  static auto first(auto x) { return 1 / x; }
  static auto second(auto x) { return -1 / (x * x); }
};

struct Sqrt {
  static auto value(auto x) { return std::sqrt(x); }
  static auto first(auto x) { return 1 / (2 * std::sqrt(x)); }
  static auto second(auto x) { return -1 / (4 * x * std::sqrt(x)); }
};

struct Rsqrt {
  static auto value(auto x) { return 1 / std::sqrt(x); }
  static auto first(auto x) { return -1 / (2 * x * std::sqrt(x)); }
  static auto second(auto x) { return 3 / (4 * x * x * std::sqrt(x)); }
};

// The derivative at 0 is taken as 0.
struct Relu {
  template <class T>
  static T value(T x) {
    return x < 0 ? T{0} : x;
  }
  template <class T>
  static T first(T x) {
    const int above = x > 0;  // as an integer, so that no compiler makes it a branch
    return static_cast<T>(above);
  }
  template <class T>
  static T second(T) {
    return T{0};
  }
};

struct Sigmoid {
  static auto value(auto x) { return 1 / (1 + std::exp(-x)); }
  static auto first(auto x) {
    const auto s = value(x);
    return s * (1 - s);
  }
  static auto second(auto x) {
    const auto s = value(x);
    return s * (1 - s) * (1 - 2 * s);
  }
};

struct Silu {
  static auto value(auto x) { return x * Sigmoid::value(x); }
  static auto first(auto x) {
    const auto s = Sigmoid::value(x);
    return s * (1 + x * (1 - s));
  }
  static auto second(auto x) {
    const auto s = Sigmoid::value(x);
    return s * (1 - s) * (2 + x * (1 - 2 * s));
  }
};

struct Gelu {
  // Returns the normal distribution function. It uses erfc, since 1 + erf cancels far below 0.
  template <class T>
  static T cumulative(T x) {
    return T(0.5) * std::erfc(-x * T(0.70710678118654752440));  // 1 / sqrt 2
  }
  template <class T>
  static T density(T x) {
    return T(0.39894228040143267794) * std::exp(T(-0.5) * x * x);  // 1 / sqrt(2 pi)
  }
  static auto value(auto x) { return x * cumulative(x); }
  static auto first(auto x) { return cumulative(x) + x * density(x); }
  static auto second(auto x) { return density(x) * (2 - x * x); }
};

struct Tanh {
  static auto value(auto x) { return std::tanh(x); }
  static auto first(auto x) {
    const auto t = std::tanh(x);
    return 1 - t * t;
  }
  static auto second(auto x) {
    const auto t = std::tanh(x);
    return -2 * t * (1 - t * t);
  }
};

struct Reciprocal {
  static auto value(auto x) { return 1 / x; }
  static auto first(auto x) { return -1 / (x * x); }
  static auto second(auto x) { return 2 / (x * x * x); }
};

}  // namespace doppler::kernel::cpu
