// How busy each device and channel was in a run, and what was moved.
#pragma once

#include <cstddef>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

struct ResourceUse {
  double busy = 0.0;         // in the problem's time unit, summed over the units of a channel
  double utilisation = 0.0;  // busy / (makespan x capacity), from 0 to 1
};

struct Metrics {
  std::vector<ResourceUse> devices;   // by device
  std::vector<ResourceUse> channels;  // by channel; empty with free links, which hold none
  double bytes_moved = 0.0;           // between devices, once per (tensor, destination)
  std::size_t transfers = 0;          // distinct (tensor, destination) pairs

  DeviceId busiest_device() const;
  // Invalid where no channel was used.
  ChannelId busiest_channel() const;
};

Metrics measure_metrics(const cost::Problem& problem, const Timeline& timeline);

}  // namespace doppler::schedule
