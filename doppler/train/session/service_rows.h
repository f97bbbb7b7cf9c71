// The runs of a service as rows of text: runs.csv in its folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace doppler::train {

struct ServiceRow {
  std::uint64_t run = 0;  // counted from 0; those that came to nothing have no row
  bool exploratory = false;
  double time = 0.0;           // in the problem's unit
  std::size_t promotions = 0;  // placements that had taken over before

  friend bool operator==(const ServiceRow&, const ServiceRow&) = default;
};

std::string write_service_rows(std::span<const ServiceRow> rows);
// Throws InputError, with the line, where the file is missing or damaged.
std::vector<ServiceRow> read_service_rows(const std::string& file);

}  // namespace doppler::train
