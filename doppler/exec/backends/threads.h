// Devices that are cores of this machine. BLAS runs on the device's own thread.
#pragma once

#include <memory>

#include "doppler/exec/backend.h"

namespace doppler::exec {

std::unique_ptr<const Backend> make_threads_backend(const cost::Problem& problem,
                                                    const BackendOptions& options);

}  // namespace doppler::exec
