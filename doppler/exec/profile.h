// Costs measured by running a placed graph: collects what each node and each transfer took.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "doppler/cost/measured_costs.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/timeline.h"

namespace doppler::exec {

// Not thread safe.
class Profile {
 public:
  // `problem` must outlive this.
  explicit Profile(const cost::Problem& problem);

  // One run more. Throws ParameterError where that is more than memory is kept for. REQUIRES: its
  // times are seconds.
  void add(const schedule::Timeline& timeline);

  // Means over all runs so far, without the longest and shortest tenth, by node and kind of device
  // and by tensor and pair of devices. Times have nine digits, beyond which no clock goes: so nodes
  // that take equally long on a virtual clock do here, too. The paths of the graph and the devices
  // are left to the caller.
  cost::MeasuredCosts costs() const;

 private:
  using Samples = std::vector<double>;
  struct Route {
    TensorId tensor;
    DeviceId from, to;
    friend auto operator<=>(const Route&, const Route&) = default;
  };

  const cost::Problem& problem_;
  int runs_ = 0;
  std::size_t samples_ = 0;
  std::vector<Samples> nodes_;  // by node, then column of the problem's table
  std::map<Route, Samples> transfers_;
};

}  // namespace doppler::exec
