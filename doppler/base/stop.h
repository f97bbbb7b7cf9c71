// A way to ask long-running work to stop: by a deadline, by a flag that another thread or a signal
// handler sets, or both. Work polls it at points where it can stop cleanly and keep its best
// result.
#pragma once

#include <atomic>
#include <chrono>

namespace doppler {

// Seconds of the steady clock that have passed since `start`.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class StopToken {
 public:
  using Clock = std::chrono::steady_clock;

  StopToken() = default;
  // `flag` may be null; when set it must outlive the token.
  explicit StopToken(const std::atomic<bool>* flag,
                     Clock::time_point deadline = Clock::time_point::max())
      : flag_(flag), deadline_(deadline) {}

  static StopToken after_seconds(double seconds, const std::atomic<bool>* flag = nullptr) {
    return StopToken(flag, Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double>(seconds)));
  }

  // The same flag with an earlier deadline, `seconds` from now at the latest.
  StopToken within_seconds(double seconds) const {
    StopToken token = after_seconds(seconds, flag_);
    if (deadline_ < token.deadline_) token.deadline_ = deadline_;
    return token;
  }

  // The same flag without a deadline, for work whose result must not depend on the clock.
  StopToken without_deadline() const { return StopToken(flag_); }

  bool interrupted() const { return flag_ && flag_->load(std::memory_order_relaxed); }
  bool stop_requested() const {
    return interrupted() || (deadline_ != Clock::time_point::max() && Clock::now() >= deadline_);
  }
  // Infinite where there is no deadline, never negative.
  double seconds_left() const {
    if (interrupted()) return 0.0;
    if (deadline_ == Clock::time_point::max()) return 1e300;
    const double left = std::chrono::duration<double>(deadline_ - Clock::now()).count();
    return left > 0.0 ? left : 0.0;
  }

 private:
  const std::atomic<bool>* flag_ = nullptr;
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace doppler
