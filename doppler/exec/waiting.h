// The clock of engines, and how their threads wait: without sleeping where the wait is likely to be
// shorter than waking up would take.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace doppler::exec {

using Clock = std::chrono::steady_clock;

// Returns the duration, clamped to about thirty years, which the clock can still count.
inline Clock::duration seconds(double count) {
  constexpr double kLongest = 1e9;
  count = std::clamp(count, -kLongest, kLongest);
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}
inline double to_seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Makes sleeps of the calling thread end when asked for, not up to 50 us later as Linux does by
// default.
void make_timers_precise();

// Returns when the bell no longer has the value `heard`, or after about a millisecond. Does not
// sleep.
void watch(const std::atomic<std::uint32_t>& bell, std::uint32_t heard);

// Takes a lock that others hold for a fraction of a microsecond at a time: tries for a while before
// it sleeps. REQUIRES: the lock is not held.
void lock_soon(std::unique_lock<std::mutex>& lock);

}  // namespace doppler::exec
