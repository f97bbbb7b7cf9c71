#include "doppler/place/parameter_packing.h"

#include <algorithm>
#include <utility>

namespace doppler::place {
namespace {

// Devices looked at: a fraction of a second.
constexpr std::uint64_t kMostLooks = 2'000'000;

struct Item {
  std::uint32_t unit;
  double bytes;
};

// Depth first; not by recursion, since items may be many.
class Packing {
 public:
  explicit Packing(const cost::Problem& problem) : problem_(problem) {
    for (std::size_t d = 0; d < problem.device_count(); ++d) {
      room_.push_back(problem.capacity_bytes(DeviceId::of(d)));
    }
    for (const TensorId tensor : problem.homed()) {
      room_[problem.home(tensor).index()] -= problem.bytes(tensor);
    }
    std::vector<TensorId> read;
    for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
      read.clear();
      for (const NodeId node : problem.unit(unit)) {
        for (const TensorId tensor : problem.graph().inputs(node)) {
          const bool stays = problem.graph().role(tensor) == graph::TensorRole::kParameter;
          if (stays && !problem.home(tensor).valid()) read.push_back(tensor);
        }
      }
      std::sort(read.begin(), read.end());
      read.erase(std::unique(read.begin(), read.end()), read.end());
      double bytes = 0.0;
      for (const TensorId tensor : read) bytes += problem.bytes(tensor);
      if (bytes > 0.0) items_.push_back({unit, bytes});
    }
    std::stable_sort(items_.begin(), items_.end(),
                     [](const Item& a, const Item& b) { return a.bytes > b.bytes; });
  }

  std::optional<std::vector<DeviceId>> search() {
    const std::uint64_t steps = kMostLooks / room_.size();
    if (items_.empty() || items_.size() > steps) return std::nullopt;
    std::vector<Level> levels{open(0)};
    for (std::uint64_t step = 0; step < steps && !levels.empty(); ++step) {
      Level& level = levels.back();
      const double bytes = items_[levels.size() - 1].bytes;
      if (level.taken > 0) room_[level.devices[level.taken - 1].index()] += bytes;
      if (level.taken == level.devices.size()) {
        levels.pop_back();
        continue;
      }
      room_[level.devices[level.taken++].index()] -= bytes;
      if (levels.size() == items_.size()) return found(levels);
      levels.push_back(open(levels.size()));
    }
    return std::nullopt;
  }

 private:
  struct Level {
    std::vector<DeviceId> devices;  // still to try, the least room first
    std::size_t taken = 0;          // the item is on the one before this
  };

  // Where the item fits. Of devices with equal room one stands for all.
  Level open(std::size_t item) const {
    Level level;
    for (const DeviceId device :
         problem_.allowed_devices(problem_.unit(items_[item].unit).front())) {
      if (room_[device.index()] >= items_[item].bytes) level.devices.push_back(device);
    }
    const auto room = [&](DeviceId device) { return room_[device.index()]; };
    std::stable_sort(level.devices.begin(), level.devices.end(),
                     [&](DeviceId a, DeviceId b) { return room(a) < room(b); });
    level.devices.erase(std::unique(level.devices.begin(), level.devices.end(),
                                    [&](DeviceId a, DeviceId b) { return room(a) == room(b); }),
                        level.devices.end());
    return level;
  }

  std::vector<DeviceId> found(const std::vector<Level>& levels) const {
    std::vector<DeviceId> device(problem_.unit_count());
    for (std::size_t i = 0; i < levels.size(); ++i) {
      device[items_[i].unit] = levels[i].devices[levels[i].taken - 1];
    }
    return device;
  }

  const cost::Problem& problem_;
  std::vector<double> room_;  // by device, less what is packed there
  std::vector<Item> items_;   // the largest first
};

}  // namespace

std::optional<std::vector<DeviceId>> pack_parameters(const cost::Problem& problem) {
  return Packing(problem).search();
}

}  // namespace doppler::place
