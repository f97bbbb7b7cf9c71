// A file's content as those who recognise formats look at it.
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

// What a reader of a graph format is given and what it gives. Every reader has the form
//
//   Imported read_xyz(const std::string& file, std::string_view bytes, const ImportOptions&);
//
// where `file` names the source in errors and the graph where nothing else does. Readers throw
// InputError with file:line:column, or file and offset where the format is no text.

struct ImportOptions {
  std::map<std::string, std::int64_t> dimensions = {};  // sizes of symbolic dimensions, by name
  std::string dimension_setting = "dimension";  // what the caller's users know `dimensions` as
  // The devices that the file brings will be used, so that memory and moves count as it counts
  // them.
  bool own_devices = false;
};

struct Imported {
  graph::Graph graph;
  std::optional<device::TopologySpec> machine = std::nullopt;  // devices that the file brings
  std::vector<std::string> notes = {};  // what was dropped or guessed, a line each
};

// A graph as the text of some format, with what that format could not hold.

struct SavedGraph {
  std::string text;
  // One sentence for each kind of loss; empty where reading the text gives the same graph.
  std::vector<std::string> notes;
};

}  // namespace doppler::formats
