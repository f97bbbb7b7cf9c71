// Fuzzes the reader of files of constraints, and the matching of their patterns.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "doppler/base/error.h"
#include "doppler/cost/constraint_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace doppler;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  cost::glob_matches(bytes.substr(0, size / 2), bytes.substr(size / 2));
  try {
    cost::read_constraint_rules_json("fuzz", bytes);
  } catch (const InputError&) {
  }
  return 0;
}
