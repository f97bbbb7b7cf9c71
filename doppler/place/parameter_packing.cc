#include "doppler/place/parameter_packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "doppler/base/units.h"

namespace doppler::place {
namespace {

// Devices looked at in one search: a fraction of a second.
constexpr std::uint64_t kMostLooks = 2'000'000;
// Units that a proof may begin with: each is tried without.
constexpr std::size_t kMostProved = 64;

struct Item {
  std::uint32_t unit;
  double bytes;
};

// Which parameters of a unit count: all that it reads, so that what is packed fits, or those that
// no other unit reads, so that what cannot be packed fits nowhere.
enum class Counted { kAll, kOwn };

// The largest first; only those with any bytes.
std::vector<Item> items_of(const cost::Problem& problem, Counted counted) {
  const graph::Graph& graph = problem.graph();
  const auto counts = [&](TensorId tensor, std::uint32_t unit) {
    if (graph.role(tensor) != graph::TensorRole::kParameter) return false;
    if (problem.home(tensor).valid()) return false;
    if (counted == Counted::kAll) return true;
    const auto readers = graph.consumers(tensor);
    return std::all_of(readers.begin(), readers.end(),
                       [&](NodeId reader) { return problem.unit_of(reader) == unit; });
  };
  std::vector<Item> items;
  std::vector<TensorId> read;
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    read.clear();
    for (const NodeId node : problem.unit(unit)) {
      for (const TensorId tensor : graph.inputs(node)) {
        if (counts(tensor, unit)) read.push_back(tensor);
      }
    }
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    double bytes = 0.0;
    for (const TensorId tensor : read) bytes += problem.bytes(tensor);
    if (bytes > 0.0) items.push_back({unit, bytes});
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.bytes > b.bytes; });
  return items;
}

enum class PackingVerdict { kFound, kNone, kUnknown };

// Depth first, and complete where it ends by itself. Not by recursion, since items may be many.
class Packing {
 public:
  Packing(const cost::Problem& problem, std::vector<Item> items)
      : problem_(problem), items_(std::move(items)), kind_(problem.device_count(), 0) {
    for (std::size_t d = 0; d < problem.device_count(); ++d) {
      room_.push_back(problem.capacity_bytes(DeviceId::of(d)));
    }
    for (const TensorId tensor : problem.homed()) {
      if (problem.graph().role(tensor) != graph::TensorRole::kParameter) continue;
      room_[problem.home(tensor).index()] -= problem.bytes(tensor);
    }
  }

  PackingVerdict search() {
    const std::uint64_t steps = kMostLooks / room_.size();
    if (items_.empty()) return PackingVerdict::kFound;
    if (items_.size() > steps) return PackingVerdict::kUnknown;
    find_kinds();
    levels_ = {open(0)};
    for (std::uint64_t step = 0; step < steps; ++step) {
      Level& level = levels_.back();
      const double bytes = items_[levels_.size() - 1].bytes;
      if (level.taken > 0) room_[level.devices[level.taken - 1].index()] += bytes;
      if (level.taken == level.devices.size()) {
        levels_.pop_back();
        if (levels_.empty()) return PackingVerdict::kNone;
        continue;
      }
      room_[level.devices[level.taken++].index()] -= bytes;
      if (levels_.size() == items_.size()) return PackingVerdict::kFound;
      levels_.push_back(open(levels_.size()));
    }
    return PackingVerdict::kUnknown;
  }

  // By unit. REQUIRES: search() found them.
  std::vector<DeviceId> devices() const {
    std::vector<DeviceId> device(problem_.unit_count());
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      device[items_[i].unit] = levels_[i].devices[levels_[i].taken - 1];
    }
    return device;
  }

 private:
  struct Level {
    std::vector<DeviceId> devices;  // where the item fits, the least room first
    std::size_t taken = 0;          // it is on the one before this
  };

  // Devices that the same items may go to are of one kind.
  void find_kinds() {
    std::map<std::vector<bool>, std::uint32_t> kinds;
    for (std::size_t d = 0; d < kind_.size(); ++d) {
      std::vector<bool> allowed;
      for (const Item& item : items_) {
        allowed.push_back(problem_.allowed(problem_.unit(item.unit).front(), DeviceId::of(d)));
      }
      kind_[d] = kinds.try_emplace(std::move(allowed), static_cast<std::uint32_t>(kinds.size()))
                     .first->second;
    }
  }

  // Of devices of one kind with equal room one stands for all.
  Level open(std::size_t item) const {
    Level level;
    for (const DeviceId device :
         problem_.allowed_devices(problem_.unit(items_[item].unit).front())) {
      if (room_[device.index()] >= items_[item].bytes) level.devices.push_back(device);
    }
    const auto key = [&](DeviceId device) {
      return std::pair(room_[device.index()], kind_[device.index()]);
    };
    std::stable_sort(level.devices.begin(), level.devices.end(),
                     [&](DeviceId a, DeviceId b) { return key(a) < key(b); });
    level.devices.erase(std::unique(level.devices.begin(), level.devices.end(),
                                    [&](DeviceId a, DeviceId b) { return key(a) == key(b); }),
                        level.devices.end());
    return level;
  }

  const cost::Problem& problem_;
  std::vector<Item> items_;
  std::vector<std::uint32_t> kind_;  // by device
  std::vector<double> room_;         // by device, less what is packed there
  std::vector<Level> levels_;        // by item, as far as packed
};

std::string in_words(const cost::Problem& problem, const std::vector<Item>& items) {
  constexpr std::size_t kMostNamed = 6;
  std::string units;
  for (std::size_t i = 0; i < std::min(items.size(), kMostNamed); ++i) {
    const auto unit = problem.unit(items[i].unit);
    units += fmt::format("{}{}{} ({})", i == 0 ? "" : ", ", problem.graph().node_name(unit.front()),
                         unit.size() > 1 ? fmt::format(" and {} colocated", unit.size() - 1) : "",
                         format_bytes(items[i].bytes));
  }
  if (items.size() > kMostNamed) units += fmt::format(" and {} more", items.size() - kMostNamed);
  std::string devices;
  for (std::size_t d = 0; d < std::min(problem.device_count(), kMostNamed); ++d) {
    devices +=
        fmt::format("{}{} {}", d == 0 ? "" : ", ", problem.topology().device(DeviceId::of(d)).name,
                    format_bytes(problem.capacity_bytes(DeviceId::of(d))));
  }
  if (problem.device_count() > kMostNamed) {
    devices += fmt::format(" and {} more", problem.device_count() - kMostNamed);
  }
  return fmt::format("the parameters of {} cannot be dealt out to devices with {} in any way",
                     units, devices);
}

}  // namespace

std::optional<std::vector<DeviceId>> pack_parameters(const cost::Problem& problem) {
  std::vector<Item> items = items_of(problem, Counted::kAll);
  if (items.empty()) return std::nullopt;
  Packing packing(problem, std::move(items));
  if (packing.search() != PackingVerdict::kFound) return std::nullopt;
  return packing.devices();
}

std::string packing_conflict(const cost::Problem& problem) {
  const auto none_packs = [&](const std::vector<Item>& items) {
    return Packing(problem, items).search() == PackingVerdict::kNone;
  };
  std::vector<Item> items = items_of(problem, Counted::kOwn);
  if (items.size() > kMostProved) items.resize(kMostProved);  // the largest
  if (!none_packs(items)) return {};
  // The smallest are the least likely to matter.
  for (std::size_t i = items.size(); i-- > 0;) {
    std::vector<Item> fewer = items;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (none_packs(fewer)) items = std::move(fewer);
  }
  return in_words(problem, items);
}

}  // namespace doppler::place
