// The memory of one device: buffers of float elements that are used again and again. Never holds
// more than its capacity: what lies idle is given back where something else is needed. Not thread
// safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace doppler::exec {

class Arena {
 public:
  using Buffer = std::unique_ptr<float[]>;

  explicit Arena(double capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  // Uninitialised. The caller keeps count: what is in use must fit (admission.h).
  Buffer allocate(std::size_t elements);
  void release(Buffer buffer, std::size_t elements);

 private:
  double capacity_bytes_;
  double bytes_ = 0.0;                               // in use and idle
  std::map<std::size_t, std::vector<Buffer>> idle_;  // by number of elements
};

}  // namespace doppler::exec
