// Times of several runtimes, measured in turn (A B C A B C …), so that what disturbs the machine
// for a while disturbs all of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "bench/rivals/runtime.h"
#include "doppler/base/statistics.h"

namespace doppler::bench {

struct Times {
  std::vector<double> seconds;  // of each run

  double median() const { return doppler::median(seconds); }
  double max() const { return *std::max_element(seconds.begin(), seconds.end()); }
  // Difference of the medians of odd and even runs, as a share of the median. REQUIRES: two runs.
  double noise() const {
    std::vector<double> halves[2];
    for (std::size_t i = 0; i < seconds.size(); ++i) halves[i % 2].push_back(seconds[i]);
    return std::abs(doppler::median(halves[0]) - doppler::median(halves[1])) / median();
  }
};

inline double timed_run(Runtime& runtime) {
  runtime.wake();
  // Threads of those that ran before go to sleep, and those just woken begin to look for work.
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto start = std::chrono::steady_clock::now();
  runtime.run();
  const auto end = std::chrono::steady_clock::now();
  runtime.rest();
  return std::chrono::duration<double>(end - start).count();
}

// By runtime. `after_run` is told the position of the runtime and the time of its run.
inline std::vector<Times> measure_interleaved(
    std::span<Runtime* const> runtimes, int warm_up, int runs,
    const std::function<void(std::size_t, double)>& after_run = [](std::size_t, double) {}) {
  std::vector<Times> times(runtimes.size());
  for (int i = -warm_up; i < runs; ++i) {
    for (std::size_t r = 0; r < runtimes.size(); ++r) {
      const double seconds = timed_run(*runtimes[r]);
      if (i < 0) continue;
      times[r].seconds.push_back(seconds);
      after_run(r, seconds);
    }
  }
  return times;
}

}  // namespace doppler::bench
