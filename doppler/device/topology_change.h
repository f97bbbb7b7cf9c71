// Machines a little different from a given one, to ask what a change would do.
#pragma once

#include "doppler/base/id.h"
#include "doppler/device/topology.h"

namespace doppler::device {

// With one more device like this one, at the end. It has links of its own where those of the
// original are the original's alone, and shares the others. Where routes are explicit, the two
// reach each other as the original reaches its nearest device.
TopologySpec with_copy_of(const TopologySpec& spec, DeviceId original);

// Without this device; those after it move up. REQUIRES: it is not the only one.
TopologySpec without_device(const TopologySpec& spec, DeviceId lost);

// With a channel at `factor` times its bandwidth; of pairwise links all channels change, since they
// are alike. Throws ParameterError where the channel has no bandwidth of its own, because transfer
// times are given. REQUIRES: factor > 0.
TopologySpec with_channel_speed(const TopologySpec& spec, ChannelId channel, double factor);

}  // namespace doppler::device
