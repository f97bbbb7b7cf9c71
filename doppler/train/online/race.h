// Compares a candidate placement with the incumbent in pairs of runs that follow each other.
//
// Each run of a pair comes just after a run of the other placement. So the cost of changing
// placements falls on both, and a slow moment of the machine falls on both nearly equally. The
// median of the pairs decides, so that a single outlier changes little. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace doppler::train {

// Compares a candidate's time with the incumbent's.
struct Advantage {
  double log_ratio = 0.0;  // log(candidate / incumbent); below 0 if the candidate is faster
  double error = 0.0;      // standard error of log_ratio
};

// The state of a race: undecided, won by the candidate, or given up.
enum class Verdict : std::uint8_t { kOpen, kBetter, kNotBetter };

class Race {
 public:
  // Fewer pairs decide nothing, except that two runs that were much too slow end the race.
  static constexpr std::size_t kLeastPairs = 4;
  // A candidate that has not shown itself better after so many pairs is given up.
  static constexpr std::size_t kMostPairs = 15;
  // The candidate wins if its advantage is at least so many standard errors. Equal placements pass
  // one look in 200 (normal distribution), and a race has a few looks.
  static constexpr double kErrors = 2.6;
  // The candidate is given up if its advantage is so many standard errors below kLeastGain. This is
  // less strict, since losing a good candidate does no harm.
  static constexpr double kGivingUpErrors = 1.0;
  // The smallest gain, as a share of the time, that is worth a change of placements.
  static constexpr double kLeastGain = 0.002;

  // Adds a pair of times. REQUIRES: both are above 0.
  void add(double candidate, double incumbent);
  std::size_t pairs() const { return log_ratios_.size(); }

  // Returns the candidate's advantage so far. `noise` is the usual standard deviation of the
  // logarithm of one run's time. REQUIRES: there is a pair.
  Advantage advantage(double noise) const;
  // Returns whether the race is decided. `max_slowdown` is the most by which a candidate may be
  // slower than the incumbent, as a share.
  Verdict verdict(double noise, double max_slowdown) const;

  const std::vector<double>& log_ratios() const { return log_ratios_; }
  void restore(std::vector<double> log_ratios) { log_ratios_ = std::move(log_ratios); }

 private:
  std::vector<double> log_ratios_;  // by pair
};

// Measures how much runs of one placement differ from one to the next, so that slow drifts do not
// count. Not thread safe.
class NoiseMeter {
 public:
  // Adds a run of the placement in service.
  void add(double time);
  // Says that the next run is of another placement.
  void interrupt() { last_log_ = 0.0, has_last_ = false; }
  // Returns the standard deviation of the logarithm of one run's time; a large number as long as
  // few runs are known.
  double noise() const;

  // Returns all that the meter knows, for checkpoints.
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
