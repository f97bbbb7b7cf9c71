// The three figures of a placement, and what else is printed with every result.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "doppler/base/json_writer.h"

namespace doppler::schedule {

struct Distribution {
  double mean = 0.0;
  double p95 = 0.0;  // the smallest value that at least 95 % of the runs do not exceed
  int runs = 0;
};

struct Figures {
  double nominal = 0.0;                   // priority rule, costs as given
  Distribution robust;                    // priority rule, jittered costs
  Distribution any_order;                 // random choice, costs as given
  std::vector<double> peak_memory_bytes;  // by device, nominal run
  double excess_memory_bytes = 0.0;       // above capacity, summed over devices
  double bytes_moved = 0.0;               // between devices, once per (tensor, destination)
};

enum class Objective : std::uint8_t { kNominal, kRobust, kAnyOrder };

// Mean and 95th percentile; reorders `samples`. REQUIRES: not empty.
Distribution summarize(std::vector<double>& samples);

// Writes {"mean": …, "p95": …, "runs": …} under the key `name`.
void write_distribution(JsonWriter& json, std::string_view name, const Distribution& distribution);

}  // namespace doppler::schedule
