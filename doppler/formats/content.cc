#include "doppler/formats/content.h"

#include "doppler/base/error.h"
#include "doppler/base/json_reader.h"

namespace doppler::formats {
namespace {

// The number of outermost keys that are looked at. No format has more before those by which it is
// recognised.
constexpr std::size_t kMaxKeys = 256;

// Returns the keys of the first object in the array that comes next, and leaves the reader
// somewhere inside.
std::vector<std::string> keys_of_first(JsonReader& reader) {
  std::vector<std::string> keys;
  reader.begin_array();
  if (!reader.next_element() || reader.peek() != JsonReader::Kind::kObject) return keys;
  reader.begin_object();
  while (const auto key = reader.next_key()) {
    keys.emplace_back(*key);
    if (keys.size() == kMaxKeys) break;
    reader.skip_value();
  }
  return keys;
}

}  // namespace

JsonOutline::JsonOutline(std::string_view text) {
  const auto first_keys = [&](std::size_t at, std::vector<std::string>& keys) {
    JsonReader array("", text, at);
    keys = keys_of_first(array);
  };
  try {
    JsonReader reader("", text);
    if (reader.peek() == JsonReader::Kind::kArray) {
      entries_.push_back({});
      first_keys(reader.value_position(), entries_.back().inner);
      return;
    }
    reader.begin_object();
    while (const auto key = reader.next_key()) {
      entries_.push_back({.key = std::string(*key), .value = {}, .inner = {}});
      if (entries_.size() == kMaxKeys) return;
      const JsonReader::Kind kind = reader.peek();
      if (kind == JsonReader::Kind::kString) {
        entries_.back().value = reader.string();
        if (entries_.back().key == "format") return;  // one of ours, and the rest may be long
        continue;
      }
      if (kind == JsonReader::Kind::kArray) {
        first_keys(reader.value_position(), entries_.back().inner);
      }
      reader.skip_value();
    }
    more_follow_ = !reader.done();
  } catch (const InputError&) {
    damaged_ = true;
  }
}

const JsonOutline::Entry* JsonOutline::find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

bool JsonOutline::has(std::string_view key) const {
  return find(key) != nullptr;
}

std::string_view JsonOutline::string(std::string_view key) const {
  const Entry* entry = find(key);
  return entry == nullptr ? std::string_view() : std::string_view(entry->value);
}

bool JsonOutline::first_has(std::string_view key, std::string_view inner) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return false;
  for (const std::string& name : entry->inner) {
    if (name == inner) return true;
  }
  return false;
}

Content::Content(std::string_view all) : bytes(all), text(all) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  text.remove_prefix(start == std::string_view::npos ? text.size() : start);
  is_json = text.starts_with('{') || text.starts_with('[');
  if (is_json) json = JsonOutline(text);
}

bool Content::starts_with_word(std::string_view word) const {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if ((text[i] | 0x20) != word[i]) return false;
  }
  return true;
}

}  // namespace doppler::formats
