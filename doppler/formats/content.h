// A file's content as those who recognise formats look at it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doppler::formats {

// The outermost keys of a JSON object, each with its value where that is a string, or of an object
// inside it. Nothing of a text that is something else.
class JsonOutline {
 public:
  JsonOutline() = default;
  // Takes what comes before the first error, so that damaged files are recognised as well.
  explicit JsonOutline(std::string_view text);

  bool has(std::string_view key) const;
  // The value where it is a string, else empty.
  std::string_view string(std::string_view key) const;
  // Whether the key's value is an array whose first element is an object with this key.
  bool first_has(std::string_view key, std::string_view inner) const;
  // The same where the whole text is an array.
  bool first_has(std::string_view inner) const { return first_has("", inner); }
  bool damaged() const { return damaged_; }
  // Whether another value follows the first, as in streams of objects.
  bool more_follow() const { return more_follow_; }

 private:
  struct Entry {
    std::string key;
    std::string value;
    std::vector<std::string> inner;  // keys of an array's first element
  };
  const Entry* find(std::string_view key) const;

  std::vector<Entry> entries_;
  bool damaged_ = false, more_follow_ = false;
};

struct Content {
  explicit Content(std::string_view bytes);

  std::string_view bytes;
  std::string_view text;  // without byte order mark and leading white space
  bool is_json = false;   // begins as an object or array does
  JsonOutline json;

  // Whether the text starts with the word, in any case of letters. REQUIRES: it is in lower case.
  bool starts_with_word(std::string_view word) const;
};

}  // namespace doppler::formats
