#include "doppler/device/links.h"

#include <utility>

namespace doppler::device {

Channel link_channel(std::string name, const Link& link, std::uint32_t capacity) {
  return {.name = std::move(name),
          .bandwidth = link.bandwidth,
          .latency_seconds = link.latency_seconds,
          .capacity = capacity,
          .achieved = AchievedLink{.bandwidth = link.achieved_share * link.bandwidth,
                                   .latency_seconds = link.achieved_latency_seconds}};
}

}  // namespace doppler::device
