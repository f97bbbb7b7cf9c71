// A candidate against the incumbent, in pairs of runs that follow each other.
//
// Both runs of a pair come just after a run of the other placement, so that whatever changing
// placements costs falls on both, and whatever the machine does meanwhile nearly so. The middle of
// the pairs decides, and pairs that do not agree decide nothing: a spike changes little. Not thread
// safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace doppler::train {

// Of log(candidate / incumbent): below 0 where the candidate is faster.
struct Advantage {
  double log_ratio = 0.0;
  double error = 0.0;  // standard error
};

enum class Verdict : std::uint8_t { kOpen, kBetter, kNotBetter };

class Race {
 public:
  // Fewer pairs decide nothing, except that two runs which were slower than anybody may be end it.
  static constexpr std::size_t kLeastPairs = 4;
  // What has not shown itself better by then is not worth more runs.
  static constexpr std::size_t kMostPairs = 15;
  // Standard errors between the advantage and none: one in 200 looks at equal placements goes wrong
  // (normal distribution), of which a race has a few.
  static constexpr double kErrors = 2.6;
  // The same between it and what would be worth while, to give up: losing a good one is no harm.
  static constexpr double kGivingUpErrors = 1.0;
  // Less is not worth a change of placements.
  static constexpr double kLeastGain = 0.002;

  // Both times are above 0.
  void add(double candidate, double incumbent);
  std::size_t pairs() const { return log_ratios_.size(); }

  // `noise`: what the logarithm of one run's time usually deviates by. REQUIRES: there is a pair.
  Advantage advantage(double noise) const;
  // `max_slowdown`: the most by which a candidate may be slower than the incumbent, as a share.
  Verdict verdict(double noise, double max_slowdown) const;

  const std::vector<double>& log_ratios() const { return log_ratios_; }
  void restore(std::vector<double> log_ratios) { log_ratios_ = std::move(log_ratios); }

 private:
  std::vector<double> log_ratios_;  // by pair
};

// How much runs of one placement differ: from one to the next, so that slow drifts do not count.
class NoiseMeter {
 public:
  // Of the placement in service.
  void add(double time);
  // The next run is of another placement.
  void interrupt() { last_log_ = 0.0, has_last_ = false; }
  // The deviation of the logarithm of one run's time; large as long as few runs are known.
  double noise() const;

  // For checkpoints.
  std::vector<double> state() const;
  void restore(const std::vector<double>& state);

 private:
  static constexpr std::size_t kKept = 200;
  std::vector<double> steps_;  // the last differences of logarithms, a ring once it is full
  std::size_t next_ = 0;
  double last_log_ = 0.0;
  bool has_last_ = false;
};

}  // namespace doppler::train
