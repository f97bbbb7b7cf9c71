// What each runtime adds to a node: graphs of kernels that do next to nothing.
#pragma once

#include "bench/rivals/report.h"

namespace doppler::bench {

// Measures, prints a table and adds to the report. Throws InternalError where a runtime does not
// keep to the graph.
void measure_overhead(std::size_t nodes, int runs, Report& report);

}  // namespace doppler::bench
