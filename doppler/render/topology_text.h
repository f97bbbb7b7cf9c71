// A topology as `devices show` prints it.
#pragma once

#include <string>

#include "doppler/device/topology.h"

namespace doppler::render {

std::string topology_text(const device::Topology& topology);

}  // namespace doppler::render
