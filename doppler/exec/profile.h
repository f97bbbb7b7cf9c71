// Costs measured by running a placed graph: collects what each node and each transfer took.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "doppler/cost/measured_costs.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/timeline.h"

namespace doppler::exec {

// Not thread safe.
class Profile {
 public:
  // `problem` must outlive the profile.
  explicit Profile(const cost::Problem& problem);

  // Adds a run. Throws ParameterError when the samples of all runs would take too much memory.
  // REQUIRES: the timeline's times are seconds.
  void add(const schedule::Timeline& timeline);

  // Returns the mean times of all runs so far, without the longest and shortest tenth: of nodes by
  // kind of device, of transfers by tensor and pair of devices. Times are rounded to nine digits,
  // beyond which no clock is exact, so that nodes that take equally long on a virtual clock have
  // equal costs. The caller fills in the paths of the graph and the devices.
  cost::MeasuredCosts costs() const;

 private:
  using Samples = std::vector<double>;  // seconds
  struct Route {
    TensorId tensor;
    DeviceId from, to;
    friend auto operator<=>(const Route&, const Route&) = default;
  };

  const cost::Problem& problem_;
  int runs_ = 0;
  std::size_t samples_ = 0;     // in all
  std::vector<Samples> nodes_;  // by node, then by column of the problem's table
  std::map<Route, Samples> transfers_;
};

}  // namespace doppler::exec
