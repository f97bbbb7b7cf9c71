#include "doppler/tra/machine.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace doppler::tra {

Machine machine_of(const device::Topology& topology) {
  Machine machine;
  machine.devices = static_cast<std::int64_t>(topology.device_count());
  double flops = INFINITY, memory = INFINITY, link = INFINITY, launch = 0.0;
  for (const device::DeviceKind& kind : topology.kinds()) {
    if (kind.peak_flops) {
      flops = std::min(flops, *kind.peak_flops * kind.efficiency("contract").of_large().compute);
    }
    if (kind.memory_bandwidth) {
      memory = std::min(memory, *kind.memory_bandwidth * kind.default_efficiency.of_large().memory);
    }
    launch = std::max(launch, kind.launch_overhead_seconds);
  }
  std::vector<ChannelId> route;
  for (std::size_t d = 1; d < topology.device_count(); ++d) {
    topology.route(DeviceId(0), DeviceId::of(d), route);
    for (const ChannelId channel : route) {
      if (const auto bandwidth = topology.channel(channel).bandwidth) {
        link = std::min(link, *bandwidth);
      }
    }
  }
  if (std::isfinite(flops)) machine.flops = flops;
  if (std::isfinite(memory)) machine.memory_bandwidth = memory;
  if (std::isfinite(link)) machine.link_bandwidth = link;
  if (launch > 0.0) machine.launch_seconds = launch;
  return machine;
}

}  // namespace doppler::tra
