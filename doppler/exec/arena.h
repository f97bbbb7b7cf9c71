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

  // `threads`: how many run kernels at once, whose memory is left alone.
  Arena(double capacity_bytes, std::size_t threads)
      : capacity_bytes_(capacity_bytes), threads_(threads) {}

  // Uninitialised. The caller keeps count: what is in use must fit (admission.h). Throws
  // std::bad_alloc where the machine has no more, or too little for kernels.
  Buffer allocate(std::size_t elements);
  void release(Buffer buffer, std::size_t elements);

 private:
  double capacity_bytes_;
  std::size_t threads_;
  double bytes_ = 0.0;                               // in use and idle
  std::map<std::size_t, std::vector<Buffer>> idle_;  // by number of elements
};

}  // namespace doppler::exec
