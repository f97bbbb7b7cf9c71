// A pull parser for JSON (RFC 8259), and helpers that read objects with it. The caller asks for the
// value that it expects, values are handed out as they are met, and nothing is kept. So a graph of
// a million nodes is read without a document tree, and every error, in syntax or in meaning, is an
// InputError that carries file:line:column.
//
//   reader.begin_object();
//   while (auto key = reader.next_key()) {
//     if (*key == "name") name = reader.string(); else reader.skip_value();
//   }
//
// There are three ways to read an object, by who wrote it:
//   read_json_object          our own formats: unknown and repeated keys are errors
//   JsonFields                the same for millions of objects: keys are numbers, nothing is
//                             allocated
//   read_foreign_json_object  formats of others: unknown keys are passed over
//
// Nesting is limited to kMaxDepth, so that hostile files cannot exhaust the stack. Nothing here is
// thread safe.
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
  // at the beginning, or at the value_position() of a value that another reader of the same text
  // passed over. Throws InputError if the text is not UTF-8, which JSON must be.
  JsonReader(std::string file, std::string_view text, std::size_t start = 0);

  // Returns the kind of the value that comes next.
  Kind peek();

  // The functions below read the value that comes next. They throw InputError with its position if
  // it is of another kind or malformed.

  void begin_object();
  // Returns the next key of the innermost object, or nothing at its end, which is consumed. The
  // view is valid until the next call of any function.
  std::optional<std::string_view> next_key();

  void begin_array();
  // Returns whether another element follows. At the end of the array, which is consumed, returns
  // false.
  bool next_element();

  std::string string();
  // Reads a string without a copy. The view is valid until the next call of any function.
  std::string_view string_view();
  // Returns a finite number: those that are too large for a double are errors.
  double number();
  // Reads an integer in [0, max], written without fraction or exponent.
  std::uint64_t unsigned_integer(std::uint64_t max);
  bool boolean();
  void null();
  // Reads the value of a field that JsonWriter::checksum_field() wrote. Throws InputError if the
  // text before it was changed.
  void read_checksum();
  // Passes over a value of any kind.
  void skip_value();

  // Returns whether nothing but white space is left.
  bool done();
  // Throws InputError unless done().
  void finish();

  // Returns the position of the value that comes next. Positions are byte offsets in the text.
  std::size_t value_position();

  // Throws InputError "file:line:column: message" for the start of the last value or key read.
  [[noreturn]] void fail(const std::string& message) const;
  // Returns the position of the last value or key read, for fail_at().
  std::size_t position() const { return token_start_; }
  // Throws InputError "file:line:column: message" for a position.
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

// A reader of one object whose keys are known. It hands them out as indices, in the order of the
// file, and refuses unknown and repeated keys with their position, so that a typing error is never
// silently ignored.
//
//   constexpr std::string_view kKeys[] = {"name", "bytes"};
//   JsonFields fields(reader, kKeys);
//   while (const auto key = fields.next()) {
//     switch (*key) { case 0: … read the value …; }
//   }
//   fields.require(0);
class JsonFields {
 public:
  // Opens the object that comes next. REQUIRES: at most 64 keys; both arguments outlive this.
  JsonFields(JsonReader& reader, std::span<const std::string_view> keys);

  // Returns the index of the next key, whose value the caller must then read; nothing at the end of
  // the object. Throws InputError for an unknown or repeated key.
  std::optional<std::size_t> next();

  // Returns whether the key was met so far.
  bool has(std::size_t key) const { return (seen_ >> key & 1) != 0; }
  // Throws InputError at the start of the object unless the key was met. To be called after its
  // end.
  void require(std::size_t key) const;
  // Returns the position of the object, for JsonReader::fail_at.
  std::size_t position() const { return position_; }

 private:
  [[noreturn]] void fail_unknown(std::string_view key) const;

  JsonReader& reader_;
  std::span<const std::string_view> keys_;
  std::uint64_t seen_ = 0;
  std::size_t position_;
};

// Reads the object that comes next. `read(key)` must read the key's value and return true, or
// return false if it does not know the key. `what` names the object in errors ("a device"). Returns
// the object's position, for errors about missing keys. Throws InputError for an unknown or
// repeated key.
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

// Reads an object of a foreign format. `read(key)` must read the key's value and return true, or
// return false to pass over it.
template <class Read>
void read_foreign_json_object(JsonReader& reader, const Read& read) {
  reader.begin_object();
  while (const auto key = reader.next_key()) {
    const std::string name(*key);
    if (!read(std::string_view(name))) reader.skip_value();
  }
}

// Calls read() for every element of the array that comes next, which it must read.
template <class Read>
void read_json_array(JsonReader& reader, const Read& read) {
  reader.begin_array();
  while (reader.next_element()) read();
}

// Reads a hash as hash_to_string() writes it. Throws InputError for anything else.
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

  // Reads and checks the value if the key is one of the two; returns false for other keys. Throws
  // InputError for another format, or for a version newer than the newest known.
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

  // Throws InputError unless both keys were met. To be called at the end of the object.
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
