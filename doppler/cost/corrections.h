// How a machine differs from the tables of a problem: factors of time, 2 is twice as slow.
#pragma once

#include <vector>

namespace doppler::cost {

struct Corrections {
  std::vector<double> node;      // by node, then device
  std::vector<double> transfer;  // by pair of devices: from, then to. Not of given transfer times
};

}  // namespace doppler::cost
