// Workloads with real kernels on two cores: each runtime's time for the same placed graph, and our
// engine's against the simulator.
#pragma once

#include "bench/rivals/report.h"

namespace doppler::bench {

// Measures, prints a table and adds to the report. Throws InternalError where the results of a
// runtime are not those of the serial runner, bit for bit.
void measure_workloads(int runs, Report& report);

}  // namespace doppler::bench
