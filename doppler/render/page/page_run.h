// A run as the report's page draws it: bars for nodes and transfers, memory over time, what was
// busy, and which nodes and transfers make up the critical chain. Detail is left out where a run
// has more than a page can hold.
#pragma once

#include <cstddef>

#include "doppler/base/json_writer.h"
#include "doppler/cost/problem.h"
#include "doppler/render/page/page_graph.h"
#include "doppler/schedule/timeline.h"

namespace doppler::render {

// How much detail the page has room for.
struct RunDetail {
  std::size_t bars = 50'000;            // for nodes, and as many for transfers
  std::size_t memory_samples = 40'000;  // over all devices
};

// Writes the run into the object that is open. REQUIRES: the timeline is one of this problem, and
// `drawn` is page_graph() of its graph.
void page_run_json(JsonWriter& json, const cost::Problem& problem, const PageGraph& drawn,
                   const schedule::Timeline& timeline, const RunDetail& detail);

}  // namespace doppler::render
