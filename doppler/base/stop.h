// StopToken, with which long-running work is asked to stop: by a deadline, by a flag that another
// thread or a signal handler sets, or both. The work polls it at points where it can stop cleanly
// and keep its best result. Tokens are immutable values; threads may poll copies or one token.
#pragma once

#include <atomic>
#include <chrono>

namespace doppler {

// Returns the seconds of the steady clock that have passed since `start`.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class StopToken {
 public:
  using Clock = std::chrono::steady_clock;

  StopToken() = default;
  // `flag` may be null; otherwise it must outlive the token and its copies.
  explicit StopToken(const std::atomic<bool>* flag,
                     Clock::time_point deadline = Clock::time_point::max())
      : flag_(flag), deadline_(deadline) {}

  static StopToken after_seconds(double seconds, const std::atomic<bool>* flag = nullptr) {
    return StopToken(flag, Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double>(seconds)));
  }

  // Returns a token with the same flag whose deadline is at most `seconds` from now.
  StopToken within_seconds(double seconds) const {
    StopToken token = after_seconds(seconds, flag_);
    if (deadline_ < token.deadline_) token.deadline_ = deadline_;
    return token;
  }

  // Returns a token with the same flag and no deadline, for work whose result must not depend on
  // the clock.
  StopToken without_deadline() const { return StopToken(flag_); }

  // Returns whether the flag is set.
  bool interrupted() const { return flag_ && flag_->load(std::memory_order_relaxed); }
  // Returns whether the flag is set or the deadline has passed.
  bool stop_requested() const {
    return interrupted() || (deadline_ != Clock::time_point::max() && Clock::now() >= deadline_);
  }
  // Returns the seconds until the deadline: 0 if it has passed or the flag is set, 1e300 if there
  // is no deadline.
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
