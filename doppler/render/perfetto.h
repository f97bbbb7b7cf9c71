// Runs as traces that ui.perfetto.dev and chrome://tracing open (docs/formats/trace.md).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/schedule/memory.h"
#include "doppler/schedule/timeline.h"

namespace doppler::render {

// Returns the run with the memory that each device uses over time.
//
// Times are shown as they are where the problem's unit is s, ms, us or ns; one unit of any other
// becomes a millisecond.
std::string trace_json(const cost::Problem& problem, const schedule::Timeline& timeline);

// Returns the same with the given memory of each device (MemoryMeter::samples), or without any
// where `memory` is empty.
std::string trace_json(const cost::Problem& problem, const schedule::Timeline& timeline,
                       std::span<const std::vector<schedule::MemorySample>> memory);

}  // namespace doppler::render
