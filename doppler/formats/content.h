// The types that all graph formats share: the content of a file as it is looked at to recognise its
// format, what a reader is given and returns, and what a writer returns.
//
// Every format has a function that recognises it and a reader of the form
//
//   bool is_xyz(const Content& content);
//   Imported read_xyz(const std::string& file, std::string_view bytes, const ImportOptions&);
//
// where `file` names the source in errors, and names the graph if nothing else does. Readers throw
// InputError with file:line:column, or with the file and the byte offset if the format is not text.
// They keep nothing of their arguments and may be called from several threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/device/topology.h"
#include "doppler/graph/graph.h"

namespace doppler::formats {

// The outermost keys of a JSON object, with values that are strings and the keys of the first
// object of values that are arrays. Immutable.
class JsonOutline {
 public:
  // Makes an outline without keys.
  JsonOutline() = default;
  // Takes everything before the first error, so that damaged files are recognised as well. Never
  // throws InputError.
  explicit JsonOutline(std::string_view text);

  bool has(std::string_view key) const;
  // Returns the key's value if it is a string, else an empty text.
  std::string_view string(std::string_view key) const;
  // Returns whether the key's value is an array whose first element is an object with the key
  // `inner`.
  bool first_has(std::string_view key, std::string_view inner) const;
  // Returns whether the whole text is such an array.
  bool first_has(std::string_view inner) const { return first_has("", inner); }
  bool damaged() const { return damaged_; }
  // Returns whether another value follows the first, as in streams of objects.
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

// The content of a file, of which `bytes` is a view.
struct Content {
  explicit Content(std::string_view bytes);

  std::string_view bytes;
  std::string_view text;  // without byte order mark and leading white space
  bool is_json = false;   // begins as an object or array does
  JsonOutline json;

  // Returns whether the text starts with the word, in upper or lower case. REQUIRES: `word` is in
  // lower case.
  bool starts_with_word(std::string_view word) const;
};

// The user's choices for a reader.
struct ImportOptions {
  std::map<std::string, std::int64_t> dimensions = {};  // sizes of symbolic dimensions, by name
  std::string dimension_setting = "dimension";  // what the caller's users know `dimensions` as
  // Set if the devices that the file describes will be used, so that memory and transfers are to be
  // counted as the file counts them.
  bool own_devices = false;
};

// The result of a reader.
struct Imported {
  graph::Graph graph;
  std::optional<device::TopologySpec> machine = std::nullopt;  // devices that the file describes
  std::vector<std::string> notes = {};  // what was dropped or guessed, one line each
};

// The result of a writer: a graph as text.
struct SavedGraph {
  std::string text;
  // One sentence for each kind of loss; empty if reading the text gives the same graph.
  std::vector<std::string> notes;
};

}  // namespace doppler::formats
