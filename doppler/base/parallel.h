// Running of independent pieces of work on several threads. The pieces must not share mutable
// state. Which thread runs which piece is not specified, so results must depend on the piece's
// index only.
#pragma once

#include <cstddef>
#include <functional>

namespace doppler {

// Returns the number of threads to use when the caller did not say: the machine's hardware threads,
// at least 1.
int default_thread_count();

// Calls body(i) for every i in [0, count), on up to `threads` threads including the caller's, and
// returns when all calls have ended. If calls throw, the exception of the lowest index is rethrown
// then; on a single thread the calls after it are not made.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

}  // namespace doppler
