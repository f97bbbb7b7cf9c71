// Numbers that describe one run (metrics), and those that describe a placement over many runs
// (figures).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/base/json_writer.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

// Tells how much a device or channel was used in a run.
struct ResourceUse {
  double busy = 0.0;         // in the problem's time unit, summed over the units of a channel
  double utilisation = 0.0;  // busy / (makespan x capacity), from 0 to 1
};

// Tells how busy devices and channels were in a run, and how much was moved.
struct Metrics {
  std::vector<ResourceUse> devices;   // by device
  std::vector<ResourceUse> channels;  // by channel; empty with free links, which hold none
  double bytes_moved = 0.0;           // between devices, once per (tensor, destination)
  std::size_t transfers = 0;          // distinct (tensor, destination) pairs

  // Returns the device with the highest utilisation.
  DeviceId busiest_device() const;
  // Returns the channel with the highest utilisation; invalid where no channel was used.
  ChannelId busiest_channel() const;
};

Metrics measure_metrics(const cost::Problem& problem, const Timeline& timeline);

// Makespans over several runs, in the problem's time unit.
struct Distribution {
  double mean = 0.0;
  double p95 = 0.0;  // the smallest value that at least 95 % of the runs do not exceed
  int runs = 0;
};

// The three figures of a placement (docs/semantics.md), and what else is printed with every result.
struct Figures {
  double nominal = 0.0;                   // priority rule, costs as given
  Distribution robust;                    // priority rule, jittered costs
  Distribution any_order;                 // random choice, costs as given
  std::vector<double> peak_memory_bytes;  // by device, nominal run
  double excess_memory_bytes = 0.0;       // above capacity, summed over devices
  double bytes_moved = 0.0;               // between devices, once per (tensor, destination)
};

// The figure that a method minimises.
enum class Objective : std::uint8_t { kNominal, kRobust, kAnyOrder };

// Returns "nominal", "robust" or "any-order".
std::string_view objective_name(Objective objective);

// Returns the mean and the 95th percentile. Reorders `samples`. REQUIRES: `samples` is not empty.
Distribution summarise(std::vector<double>& samples);

// Writes {"mean": …, "p95": …, "runs": …} under the key `name`.
void write_distribution(JsonWriter& json, std::string_view name, const Distribution& distribution);

}  // namespace doppler::schedule
