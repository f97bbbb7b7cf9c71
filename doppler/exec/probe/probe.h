// Measures this computer the way placed graphs run on it: runs small graphs of each kernel on the
// engine itself, on every device at once, and takes the times from the engine's timelines. The
// result is a topology for `cpu:N` whose predictions hold for the engine `threads`.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "doppler/device/topology.h"

namespace doppler::exec {

struct ProbeSettings {
  std::size_t devices = 0;  // 0: one for each CPU that this process may use
  bool quick = false;       // measures fewer sizes for a shorter time: some seconds in all
  // If set, this function is called with what is measured next and with the share that is done.
  std::function<void(const std::string& what, double share)> progress = {};
};

// One kind of op at one size, measured while every device does the same. Bytes, flops and seconds
// are means over the forms that were measured.
struct ProbePoint {
  std::string op;
  double bytes = 0.0, flops = 0.0;  // of a call
  double seconds = 0.0;             // of a call
  double spread = 0.0;  // distance of the quartiles of all times as a share of their median
};

struct ProbeResult {
  device::TopologySpec topology;
  std::vector<ProbePoint> points;  // op after op, by rising size
  double seconds = 0.0;            // how long measuring took
};

// Throws ParameterError if there are fewer CPUs than devices. Nothing else should run meanwhile.
ProbeResult probe_machine(const ProbeSettings& settings);

}  // namespace doppler::exec
