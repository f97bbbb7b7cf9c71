// Loops that work on several numbers at once, for the few functions in which training spends its
// time.
//
// DOPPLER_WIDE_CLONES compiles a function twice: for any processor of the family, and for those
// with AVX2, which most have had for ten years. The choice is made when the program loads.
// Sanitisers are left out, because it is made before they start. Functions that such a function
// calls must be always_inline. Products and sums are rounded one by one, so that both versions give
// the same bits.
#pragma once

#include <cstddef>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DOPPLER_WIDE_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define DOPPLER_WIDE_CLONES
#endif

namespace doppler::nn {

// The number of scalars in a lane: as many floats as a register of an AVX2 processor holds.
inline constexpr std::size_t kLane = 8;

template <class T>
struct LaneOf {
  typedef T Type __attribute__((vector_size(kLane * sizeof(T))));
  // The same in memory, at any address.
  typedef T Stored __attribute__((vector_size(kLane * sizeof(T)), aligned(alignof(T)), may_alias));
};
// kLane numbers that arithmetic treats as one.
template <class T>
using Lane = typename LaneOf<T>::Type;

template <class T>
[[gnu::always_inline]] inline void load(const T* from, Lane<T>& lane) {
  lane = *reinterpret_cast<const typename LaneOf<T>::Stored*>(from);
}
template <class T>
[[gnu::always_inline]] inline void store(const Lane<T>& lane, T* to) {
  *reinterpret_cast<typename LaneOf<T>::Stored*>(to) = lane;
}

}  // namespace doppler::nn
