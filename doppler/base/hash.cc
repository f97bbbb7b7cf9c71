#include "doppler/base/hash.h"

#include <fmt/format.h>

namespace doppler {

std::string hash_to_string(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace doppler
