// A pull parser for JSON (RFC 8259): the caller asks for what it expects, values are handed out as
// they are met, nothing is kept. Reads a million-node graph without a document tree, and every
// error, syntax or meaning, carries file:line:column.
//
//   reader.begin_object();
//   while (auto key = reader.next_key()) {
//     if (*key == "name") name = reader.string(); else reader.skip_value();
//   }
//
// Nesting is limited to kMaxDepth, so hostile files cannot exhaust the stack. Not thread safe.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace doppler {

class JsonReader {
 public:
  enum class Kind { kObject, kArray, kString, kNumber, kBool, kNull };
  static constexpr int kMaxDepth = 64;

  // `file` names the source in errors. `text` must outlive the reader. Reading starts at `start`:
  // the beginning, or the value_position() of a value that another reader of the same text passed
  // over. Throws InputError where the text is not UTF-8, as JSON is.
  JsonReader(std::string file, std::string_view text, std::size_t start = 0);

  // The kind of the value that comes next.
  Kind peek();

  void begin_object();
  // The next key of the innermost object, or nothing at its end (which is consumed). The view is
  // valid until the next call of any kind.
  std::optional<std::string_view> next_key();

  void begin_array();
  // True where another element follows; false at the end (which is consumed).
  bool next_element();

  std::string string();
  // Like string(), without a copy. The view is valid until the next call of any kind.
  std::string_view string_view();
  double number();  // finite: JSON has no other
  // Requires an integer in [0, max], written without fraction.
  std::uint64_t unsigned_integer(std::uint64_t max);
  bool boolean();
  void null();
  void skip_value();

  // Whether nothing but white space is left.
  bool done();
  // Requires that.
  void finish();

  // The place of the value that comes next.
  std::size_t value_position();

  // Throws InputError "file:line:column: message" for the start of the last value or key read.
  [[noreturn]] void fail(const std::string& message) const;
  // The place of the last value or key read, as an opaque offset for fail_at.
  std::size_t position() const { return token_start_; }
  [[noreturn]] void fail_at(std::size_t offset, const std::string& message) const;

 private:
  enum class Scope : std::uint8_t { kObject, kArray };
  struct Frame {
    Scope scope;
    bool empty;
  };

  [[noreturn]] void fail_here(const std::string& message) const;
  void skip_space();
  char next_char();
  void expect(char c, const char* what);
  void expect_literal(std::string_view literal);
  std::string_view number_text();
  std::string_view scan_string();
  void open(Scope scope);

  std::string file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t token_start_ = 0;
  std::vector<Frame> frames_;
  std::string scratch_;  // the unescaped form of the last string, where it had escapes
};

// Reads a JSON object whose keys are known: hands them out as indices, in any order, and refuses
// unknown and repeated keys with their position, so that a typing error is never silently ignored.
//
//   constexpr std::string_view kKeys[] = {"name", "bytes"};
//   JsonFields fields(reader, kKeys);
//   while (const auto key = fields.next()) {
//     switch (*key) { case 0: … read the value …; }
//   }
//   fields.require(0);

class JsonFields {
 public:
  // Opens the object that comes next. REQUIRES: at most 64 keys; both outlive this.
  JsonFields(JsonReader& reader, std::span<const std::string_view> keys);

  // The index of the next key, whose value must then be read; nothing at the object's end.
  std::optional<std::size_t> next();

  bool has(std::size_t key) const { return (seen_ >> key & 1) != 0; }
  // Fails at the object's start unless the key was there. For use after the end.
  void require(std::size_t key) const;
  // Where the object starts, for JsonReader::fail_at.
  std::size_t position() const { return position_; }

 private:
  [[noreturn]] void fail_unknown(std::string_view key) const;

  JsonReader& reader_;
  std::span<const std::string_view> keys_;
  std::uint64_t seen_ = 0;
  std::size_t position_;
};

// Reading JSON objects with a fixed set of keys, as all our formats have: a key that is unknown or
// stands twice is refused with its place.

// Reads the object that comes next. `read(key)` reads the key's value and returns true, or returns
// false where it does not know the key. `what` names the object in errors ("a device"). Returns the
// object's place, for errors about what it lacks.
template <class Read>
std::size_t read_json_object(JsonReader& reader, std::string_view what, const Read& read) {
  reader.begin_object();
  const std::size_t position = reader.position();
  std::vector<std::string> seen;
  while (const auto key = reader.next_key()) {
    const std::string name(*key);
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      reader.fail("key '" + name + "' stands twice in " + std::string(what));
    }
    if (!read(name)) reader.fail("unknown key '" + name + "' in " + std::string(what));
    seen.push_back(name);
  }
  return position;
}

// A hash as hash_to_string() writes it.
inline std::uint64_t read_json_hash(JsonReader& reader) {
  const std::string text = reader.string();
  std::uint64_t hash = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, hash, 16);
  if (text.size() != 16 || parsed.ec != std::errc{} || parsed.ptr != end) {
    reader.fail("expected a hash of 16 hexadecimal digits");
  }
  return hash;
}

// The keys "format" and "version" that every file of ours carries.
class JsonFormatKeys {
 public:
  JsonFormatKeys(std::string_view format, std::uint64_t newest_version)
      : format_(format), newest_(newest_version) {}

  // True where the key was one of the two, whose value is read and checked.
  bool read(JsonReader& reader, std::string_view key) {
    if (key == "format") {
      const std::string found = reader.string();
      if (found != format_) {
        reader.fail("the format is '" + found + "', expected '" + std::string(format_) + "'");
      }
      has_format_ = true;
      return true;
    }
    if (key != "version") return false;
    const std::uint64_t version = reader.unsigned_integer(UINT32_MAX);
    if (version == 0) reader.fail("there is no version 0 of " + std::string(format_));
    if (version > newest_) {
      reader.fail("version " + std::to_string(version) + " of " + std::string(format_) +
                  " is not known here (the newest is " + std::to_string(newest_) +
                  "): use a newer doppler");
    }
    has_version_ = true;
    return true;
  }

  // Call at the end of the object: both keys must have been there.
  void require(const JsonReader& reader) const {
    if (!has_format_) reader.fail_at(0, "not a " + std::string(format_) + " file: no key 'format'");
    if (!has_version_) reader.fail_at(0, "no key 'version'");
  }

 private:
  std::string_view format_;
  std::uint64_t newest_;
  bool has_format_ = false;
  bool has_version_ = false;
};

}  // namespace doppler
