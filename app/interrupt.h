// Ctrl-C as a flag: searches poll it and keep their best result. A second Ctrl-C ends the program.
#pragma once

#include <atomic>

namespace doppler::app {

// From now on SIGINT and SIGTERM set the flag once, then act as usual again.
const std::atomic<bool>* catch_interrupts();

}  // namespace doppler::app
