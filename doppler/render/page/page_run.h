// A run as the report's page draws it: bars for nodes and transfers, memory over time, what was
// busy, and which nodes and transfers make up the critical chain. Thinned where a run has more
// detail than a page can hold.
#pragma once

#include <cstddef>

#include "doppler/base/json_writer.h"
#include "doppler/cost/problem.h"
#include "doppler/render/page/page_graph.h"
#include "doppler/schedule/timeline.h"

namespace doppler::render {

struct RunDetail {
  std::size_t bars = 50'000;            // of nodes, and as many of transfers
  std::size_t memory_samples = 40'000;  // over all devices
};

// Into the object that is open. REQUIRES: the timeline is one of this problem, `drawn` of its
// graph.
void write_page_run(JsonWriter& json, const cost::Problem& problem, const PageGraph& drawn,
                    const schedule::Timeline& timeline, const RunDetail& detail);

}  // namespace doppler::render
