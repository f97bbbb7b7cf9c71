// Ctrl-C as a flag: searches poll it and keep their best result. A second Ctrl-C ends the program.
#pragma once

#include <atomic>

namespace doppler::app {

// From now on the first SIGINT or SIGTERM sets the flag; after it both act as usual again.
const std::atomic<bool>* catch_interrupts();

}  // namespace doppler::app
