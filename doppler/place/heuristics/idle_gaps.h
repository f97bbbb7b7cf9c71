// The idle stretches of one device in a planned schedule, for schedulers that insert nodes between
// others. Not thread safe.
#pragma once

#include <vector>

namespace doppler::place {

class IdleGaps {
 public:
  // Idle from 0 on.
  IdleGaps();

  // The earliest start >= ready of an idle stretch of this duration; infinity where it would be
  // after `latest`.
  double earliest_start(double ready, double duration, double latest) const;
  // The end of everything planned so far.
  double busy_until() const { return blocks_.back().gaps.back().begin; }
  // Takes [start, start + duration] out. REQUIRES: earliest_start returned `start` for this
  // duration and nothing was taken since.
  void take(double start, double duration);

 private:
  struct Gap {
    double begin;
    double end;  // > begin; the last gap of all has no end
  };
  // Gaps in order of time, in blocks that know their longest, so that a search skips blocks of
  // slivers.
  struct Block {
    std::vector<Gap> gaps;  // never empty
    double longest;         // at least the longest of the gaps
  };
  static constexpr std::size_t kMostGaps =
      64;  // in one block; about the square root of a long list

  std::vector<Block> blocks_;
};

}  // namespace doppler::place
