// The queue of what is to come in a run: ends of nodes and of transfers, the earliest first, ties
// to the lower id. It is a binary heap in which every comparison is one of integers without a
// branch, since mispredicted branches are costly. Internal to sim/. Not thread safe.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace doppler::sim {

class EventQueue {
 public:
  // An end at a time that is not negative.
  struct Event {
    double time() const { return std::bit_cast<double>(time_bits); }
    std::uint32_t id() const { return static_cast<std::uint32_t>(id_and_slot >> 32); }
    // Whatever the owner of the queue keeps of the event.
    std::uint32_t slot() const { return static_cast<std::uint32_t>(id_and_slot); }

    std::uint64_t time_bits;  // order like the times, as long as these are not negative
    std::uint64_t id_and_slot;
  };

  void clear() { size_ = 0; }
  bool empty() const { return size_ == 0; }
  std::span<const Event> all() const { return {items_.data(), size_}; }  // in no order
  // Returns the earliest event. REQUIRES: there is one.
  const Event& first() const { return items_[0]; }
  bool is_due(double now) const { return size_ > 0 && items_[0].time() == now; }

  [[gnu::always_inline]] void push(double time, std::uint32_t id, std::uint32_t slot) {
    if (size_ == items_.size()) [[unlikely]]
      items_.resize(2 * size_);
    const Event event{std::bit_cast<std::uint64_t>(time + 0.0), std::uint64_t{id} << 32 | slot};
    Event* const items = items_.data();
    std::size_t hole = size_++;
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 2;
      if (!before(event, items[parent])) break;
      items[hole] = items[parent];
      hole = parent;
    }
    items[hole] = event;
  }

  // Removes the earliest event. REQUIRES: there is one.
  [[gnu::always_inline]] void pop() {
    Event* const items = items_.data();
    const Event event = items[--size_];
    // The hole goes down to a leaf, and the last event from there up to its place, which is not
    // far: it was a leaf before. The entry behind the last one is that event's old place, so that
    // it may be read before it is known whether it counts.
    std::size_t hole = 0;
    for (std::size_t child = 1; child < size_; child = 2 * hole + 1) {
      child +=
          static_cast<std::size_t>(before(items[child + 1], items[child]) && child + 1 < size_);
      items[hole] = items[child];
      hole = child;
    }
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 2;
      if (!before(event, items[parent])) break;
      items[hole] = items[parent];
      hole = parent;
    }
    items[hole] = event;
  }

 private:
  __extension__ using Key = unsigned __int128;
  static bool before(const Event& a, const Event& b) {
    return (Key{a.time_bits} << 64 | a.id_and_slot) < (Key{b.time_bits} << 64 | b.id_and_slot);
  }

  std::vector<Event> items_ = std::vector<Event>(64);
  std::size_t size_ = 0;
};

}  // namespace doppler::sim
