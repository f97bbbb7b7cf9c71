#include "doppler/exec/waiting.h"

#include <sys/prctl.h>

#include <thread>

namespace doppler::exec {
namespace {

// Waking a sleeping core takes up to some 0.1 ms on virtual machines; a gap of a millisecond hardly
// notices.
constexpr std::chrono::microseconds kWatchTime(1000);

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

void make_timers_precise() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

void watch(const std::atomic<std::uint32_t>& bell, std::uint32_t heard) {
  const Clock::time_point end = Clock::now() + kWatchTime;
  do {
    for (int i = 0; i < 32; ++i) {
      if (bell.load(std::memory_order_acquire) != heard) return;
      pause_briefly();
    }
  } while (Clock::now() < end);
}

void lock_soon(std::unique_lock<std::mutex>& lock) {
  constexpr int kTries = 500;
  for (int i = 0; i < kTries; ++i) {
    if (lock.try_lock()) return;
    pause_briefly();
  }
  lock.lock();
}

}  // namespace doppler::exec
