// Strong ids: dense 32-bit indices of nodes, tensors, devices and channels, as types that cannot be
// mixed up with each other. Ids are plain values. A default-made id is invalid: it is greater than
// all others, and the index of nothing.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace doppler {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t value) : value_(value) {}
  // Makes an id from an index of any integer type. REQUIRES: it fits in 32 bits.
  template <class Integer>
  static constexpr Id of(Integer index) {
    return Id(static_cast<std::uint32_t>(index));
  }

  constexpr std::uint32_t value() const { return value_; }
  constexpr std::size_t index() const { return value_; }
  constexpr bool valid() const { return value_ != kNone; }

  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint32_t value_ = kNone;
};

using NodeId = Id<struct NodeTag>;
using TensorId = Id<struct TensorTag>;
using DeviceId = Id<struct DeviceTag>;
using ChannelId = Id<struct ChannelTag>;

}  // namespace doppler

template <class Tag>
struct std::hash<doppler::Id<Tag>> {
  std::size_t operator()(doppler::Id<Tag> id) const noexcept { return id.index(); }
};
