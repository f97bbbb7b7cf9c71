// What the commands that search share.
#pragma once

#include "app/requests.h"
#include "doppler/place/run_method.h"

namespace doppler::app {

// Ctrl-C interrupts from now on.
place::RunSettings run_settings(const SearchOptions& search);

}  // namespace doppler::app
