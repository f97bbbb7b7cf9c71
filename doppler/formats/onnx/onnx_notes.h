// Helpers of the reader of ONNX models: OnnxNotes, which binds open dimensions to sizes and
// collects what was assumed and left out, for the notes to the user; and the order in which nodes
// are read.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/formats/content.h"
#include "doppler/formats/onnx/onnx_model.h"
#include "doppler/formats/onnx/onnx_op.h"

namespace doppler::formats {

// The bound dimensions and the notes of one model. Not thread safe.
class OnnxNotes {
 public:
  // `options` must outlive this.
  explicit OnnxNotes(const ImportOptions& options) : options_(&options) {}

  // Records the sizes that open dimensions of an input of the model suggest by their position. Must
  // be called for all inputs before bind(), so that a name has one size wherever it occurs.
  void see_input(const OnnxValueInfo& input);
  // Returns a declared shape with a size for every dimension: the user's, else a default, which is
  // noted. Returns nothing if no shape is declared.
  std::optional<OnnxShape> bind(const OnnxValueInfo& value);
  // Returns the shape that is assumed for an input without a declared one, which is noted.
  OnnxShape shapeless_input(std::string_view name);

  void add_without_rule(const OnnxNode& node);
  void add_guessed_shape(const OnnxNode& node);
  void add_data_dependent(const OnnxNode& node);
  void add_endless_loop() { ++endless_loops_; }
  void count_folded() { ++folded_; }
  void count_view() { ++views_; }

  // Returns the notes, one line each.
  std::vector<std::string> lines(std::size_t dropped_ops) const;

 private:
  using Counts = std::map<std::string, std::size_t>;

  static std::string full_name(const OnnxNode& node);
  static std::string table(const Counts& counts);
  // Returns the size that is assumed for a dimension that is not bound; `name` is its name in
  // ImportOptions::dimensions.
  std::int64_t open_size(const OnnxDimension& dimension, const std::string& name) const;

  const ImportOptions* options_;
  std::map<std::string, std::int64_t> by_place_;  // sizes suggested by see_input(), by name
  std::map<std::string, std::int64_t> assumed_;
  std::set<std::string> used_;
  std::vector<std::string> shapeless_;
  Counts without_rule_, guessed_shape_, data_dependent_;
  std::size_t endless_loops_ = 0, folded_ = 0, views_ = 0;
};

// Returns the indices of the nodes in an order in which each comes after those whose results it
// reads. The standard requires models to be in such an order, which is then kept; others are
// sorted, the first possible node of the file first. `is_given` says which values need no node.
// Throws InputError for a value that two nodes give, and for a cycle.
std::vector<std::size_t> onnx_order(const std::string& file, const std::vector<OnnxNode>& nodes,
                                    const std::function<bool(std::string_view)>& is_given);

}  // namespace doppler::formats
