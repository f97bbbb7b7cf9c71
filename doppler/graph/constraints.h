// What a graph's file demands of any placement. Devices are named, since a graph does not know
// which topology it will meet; cost/problem resolves the names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "doppler/base/id.h"

namespace doppler::graph {

struct Constraints {
  struct NodeDevice {
    NodeId node;
    std::string device;
  };
  struct DeviceMemory {
    std::string device;
    std::uint64_t bytes;
  };

  std::vector<NodeDevice> pins;                // the node runs on this device
  std::vector<NodeDevice> forbids;             // the node does not run on this device
  std::vector<std::vector<NodeId>> colocated;  // the nodes of a class share one device
  std::vector<DeviceMemory> memory;            // replaces the capacity in the topology

  bool empty() const {
    return pins.empty() && forbids.empty() && colocated.empty() && memory.empty();
  }
};

}  // namespace doppler::graph
