// Runs independent pieces of work on several threads. The pieces must not share mutable state;
// which thread runs which piece is not specified, so results must depend on the piece's index only.
#pragma once

#include <cstddef>
#include <functional>

namespace doppler {

// The number of threads to use when the caller did not say: what the machine offers, at least 1.
int default_thread_count();

// Calls body(i) for every i in [0, count), on up to `threads` threads including the caller's.
// Returns when all are done. The first exception (by index) is rethrown after all threads have
// stopped.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

}  // namespace doppler
