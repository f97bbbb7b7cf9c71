// Measures this machine the way placed graphs run on it: small graphs of each kernel on the engine
// itself, on every device at once, timed by the engine's own timelines. What comes out is a
// topology for `cpu:N` whose predictions hold for the engine `threads`.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "doppler/device/topology.h"

namespace doppler::exec {

struct ProbeSettings {
  std::size_t devices = 0;  // 0: one for each CPU that this process may use
  bool quick = false;       // fewer sizes, shorter: some seconds
  // Told what is measured next and which share is done.
  std::function<void(const std::string& what, double share)> progress = {};
};

// An op kind at a size, with every device busy doing the same.
struct ProbePoint {
  std::string op;
  double bytes = 0.0, flops = 0.0;  // of a call; means over the forms that were measured
  double seconds = 0.0;             // the same
  double spread = 0.0;              // of all times: distance of the quartiles over the median
};

struct ProbeResult {
  device::TopologySpec topology;
  std::vector<ProbePoint> points;  // op after op, by rising size
  double seconds = 0.0;            // that measuring took
};

// Throws ParameterError where there are fewer CPUs than devices. Nothing else should run meanwhile.
ProbeResult probe_machine(const ProbeSettings& settings);

}  // namespace doppler::exec
