// What the cost of a plan depends on: equal devices with equal links between them.
#pragma once

#include <cstdint>

#include "doppler/device/topology.h"

namespace doppler::tra {

struct Machine {
  std::int64_t devices = 1;
  double flops = 1e12;             // per second and device
  double memory_bandwidth = 1e11;  // bytes per second and device
  double link_bandwidth = 1e10;    // bytes per second that a device can send
  double launch_seconds = 5e-6;    // per kernel
};

// The slowest device and the slowest link of the first one stand for all of them.
Machine machine_of(const device::Topology& topology);

}  // namespace doppler::tra
