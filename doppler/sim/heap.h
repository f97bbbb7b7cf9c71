// Binary heaps over slices of one flat array, for queues whose largest size is known. Internal to
// sim/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace doppler::sim {

// One entry of a queue. Entries are ordered by `key`; the lower id wins ties.
struct HeapItem {
  double key;
  std::uint32_t id;
};

struct SmallestFirst {
  static bool before(const HeapItem& a, const HeapItem& b) {
    return a.key < b.key || (a.key == b.key && a.id < b.id);
  }
};

// Adds an entry. REQUIRES: `items` has room for one more.
template <class Order>
inline void heap_push(HeapItem* items, std::uint32_t& size, HeapItem item) {
  std::size_t hole = size++;
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / 2;
    if (!Order::before(item, items[parent])) break;
    items[hole] = items[parent];
    hole = parent;
  }
  items[hole] = item;
}

// Removes and returns the first entry. REQUIRES: size > 0.
template <class Order>
inline HeapItem heap_pop(HeapItem* items, std::uint32_t& size) {
  const HeapItem top = items[0];
  const std::uint32_t last = --size;
  if (last > 0) {
    const HeapItem item = items[last];
    std::size_t hole = 0;
    for (std::size_t child = 1; child < last; child = 2 * hole + 1) {
      if (child + 1 < last && Order::before(items[child + 1], items[child])) ++child;
      if (!Order::before(items[child], item)) break;
      items[hole] = items[child];
      hole = child;
    }
    items[hole] = item;
  }
  return top;
}

}  // namespace doppler::sim
