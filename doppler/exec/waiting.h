// How the threads of an engine wait: without sleeping where that is over sooner than waking up.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace doppler::exec {

using Clock = std::chrono::steady_clock;

// No longer than thirty years, which a clock can still count.
inline Clock::duration seconds(double count) {
  constexpr double kLongest = 1e9;
  count = std::clamp(count, -kLongest, kLongest);
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}
inline double to_seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// From now on sleeps of this thread end when asked for, not up to 50 us later as is Linux' default.
void make_timers_precise();

// Returns when the bell is no longer as it was heard, or after about a millisecond.
void watch(const std::atomic<std::uint32_t>& bell, std::uint32_t heard);

// For a lock that is held for a fraction of a microsecond at a time.
void lock_soon(std::unique_lock<std::mutex>& lock);

}  // namespace doppler::exec
