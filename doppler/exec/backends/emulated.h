// Devices and links of any topology: nodes and transfers take as long as the problem's costs say,
// or as a machine would that differs from them.
#pragma once

#include <memory>

#include "doppler/exec/backend.h"

namespace doppler::exec {

std::unique_ptr<const Backend> make_emulated_backend(const cost::Problem& problem,
                                                     const BackendOptions& options);

}  // namespace doppler::exec
