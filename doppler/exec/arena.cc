#include "doppler/exec/arena.h"

#include <utility>

#include "doppler/kernel/cpu/gemm.h"

namespace doppler::exec {
namespace {

// Asking whether there is more takes some microseconds, so small buffers go without.
constexpr double kMuchBytes = 1e6;

double bytes_of(std::size_t elements) {
  return static_cast<double>(elements * sizeof(float));
}

}  // namespace

Arena::Buffer Arena::allocate(std::size_t elements) {
  if (const auto found = idle_.find(elements); found != idle_.end() && !found->second.empty()) {
    Buffer buffer = std::move(found->second.back());
    found->second.pop_back();
    return buffer;
  }
  bytes_ += bytes_of(elements);
  for (auto at = idle_.begin(); at != idle_.end() && bytes_ > capacity_bytes_;) {
    if (at->second.empty()) {
      at = idle_.erase(at);
      continue;
    }
    at->second.pop_back();
    bytes_ -= bytes_of(at->first);
  }
  Buffer buffer(new float[elements]);
  if (bytes_of(elements) >= kMuchBytes) kernel::cpu::require_blas_memory(threads_);
  return buffer;
}

void Arena::release(Buffer buffer, std::size_t elements) {
  if (buffer) idle_[elements].push_back(std::move(buffer));
}

}  // namespace doppler::exec
