// JsonWriter, which writes a JSON document into a string. Doubles are written with the fewest
// digits that read back to the same bits; one that is not finite is written as null, since JSON has
// no such number. The document is UTF-8 whatever text it is given: bytes that are not UTF-8 (file
// names may have any) become U+FFFD. Characters that a terminal would obey are escaped, so that it
// is safe to print.
//
// Objects and arrays that are opened as kCompact, and everything inside them, stay on one line;
// others put one element on each line. Not thread safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace doppler {

enum class JsonLayout { kLines, kCompact };

class JsonWriter {
 public:
  JsonWriter& begin_object(JsonLayout layout = JsonLayout::kLines) {
    return open('{', '}', layout);
  }
  JsonWriter& end_object() { return close(); }
  JsonWriter& begin_array(JsonLayout layout = JsonLayout::kLines) { return open('[', ']', layout); }
  JsonWriter& end_array() { return close(); }

  // Writes the key of the next value. REQUIRES: inside an object.
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);
  JsonWriter& value(bool flag);
  template <std::integral Integer>
  JsonWriter& value(Integer number) {
    if constexpr (std::signed_integral<Integer>) {
      return signed_value(number);
    } else {
      return unsigned_value(number);
    }
  }
  JsonWriter& null();

  // Writes a key and its value.
  template <class T>
  JsonWriter& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  // Writes the field "checksum": a hash of the document so far. JsonReader::read_checksum()
  // compares it. REQUIRES: it is the last field of the outermost object.
  JsonWriter& checksum_field();

  // Returns the document, ended with a newline, and leaves the writer empty. REQUIRES: everything
  // that was opened is closed.
  std::string take();

 private:
  struct Frame {
    char closing;
    JsonLayout layout;
    bool empty;
  };

  JsonWriter& open(char opening, char closing, JsonLayout layout);
  JsonWriter& close();
  JsonWriter& signed_value(std::int64_t number);
  JsonWriter& unsigned_value(std::uint64_t number);
  void separate();
  void before_value();
  void quote(std::string_view text);
  void append_escaped(std::string_view text);

  std::string out_;
  std::vector<Frame> frames_;
  bool after_key_ = false;
};

}  // namespace doppler
