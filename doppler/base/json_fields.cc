#include "doppler/base/json_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doppler/base/error.h"

namespace doppler {

JsonFields::JsonFields(JsonReader& reader, std::span<const std::string_view> keys)
    : reader_(reader), keys_(keys) {
  DOPPLER_CHECK(keys.size() <= 64);
  reader_.begin_object();
  position_ = reader_.position();
}

std::optional<std::size_t> JsonFields::next() {
  const auto key = reader_.next_key();
  if (!key) return std::nullopt;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (*key != keys_[i]) continue;
    if (has(i)) reader_.fail(fmt::format("the key '{}' stands twice", *key));
    seen_ |= std::uint64_t{1} << i;
    return i;
  }
  fail_unknown(*key);
}

void JsonFields::require(std::size_t key) const {
  if (!has(key)) reader_.fail_at(position_, fmt::format("the key '{}' is missing", keys_[key]));
}

void JsonFields::fail_unknown(std::string_view key) const {
  reader_.fail(fmt::format("unknown key '{}' (known: {})", key, fmt::join(keys_, ", ")));
}

}  // namespace doppler
