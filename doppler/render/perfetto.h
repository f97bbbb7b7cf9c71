// A run as a trace that ui.perfetto.dev and chrome://tracing open (docs/formats/trace.md).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/schedule/memory.h"
#include "doppler/schedule/timeline.h"

namespace doppler::render {

// `memory` holds the occupation of each device over time (MemoryMeter::samples), or nothing.
//
// Times are shown as they are where the problem's unit is s, ms, us or ns; one unit of any other
// becomes a millisecond.
std::string write_trace(const cost::Problem& problem, const schedule::Timeline& timeline,
                        std::span<const std::vector<schedule::MemorySample>> memory = {});

// The run as a Perfetto trace, memory of each device among it.
std::string trace_json(const cost::Problem& problem, const schedule::Timeline& timeline);

}  // namespace doppler::render
