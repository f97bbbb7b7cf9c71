// What a reader of an ONNX model assumes, binds and leaves out, and how it tells of it.
//
// Not thread safe.
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

class OnnxNotes {
 public:
  // `options` must outlive this.
  explicit OnnxNotes(const ImportOptions& options) : options_(&options) {}

  // Sees what the places of open dimensions in an input of the model say of their sizes. All inputs
  // are seen before any is bound, so that a name has one size wherever it stands.
  void see_input(const OnnxValueInfo& input);
  // A declared shape with every dimension a size: the user's, else a default, which is noted.
  // Nothing where no shape is declared.
  std::optional<OnnxShape> bind(const OnnxValueInfo& value);
  OnnxShape shapeless_input(std::string_view name);

  void add_without_rule(const OnnxNode& node);
  void add_guessed_shape(const OnnxNode& node);
  void add_data_dependent(const OnnxNode& node);
  void add_endless_loop() { ++endless_loops_; }
  void count_folded() { ++folded_; }
  void count_view() { ++views_; }

  std::vector<std::string> lines(std::size_t dropped_ops) const;

 private:
  using Counts = std::map<std::string, std::size_t>;

  static std::string full_name(const OnnxNode& node);
  static std::string table(const Counts& counts);
  // What is taken for a dimension that is not bound; `name` as --dim has it.
  std::int64_t open_size(const OnnxDimension& dimension, const std::string& name) const;

  const ImportOptions* options_;
  std::map<std::string, std::int64_t> by_place_;  // of dimensions of inputs, by name
  std::map<std::string, std::int64_t> assumed_;
  std::set<std::string> used_;
  std::vector<std::string> shapeless_;
  Counts without_rule_, guessed_shape_, data_dependent_;
  std::size_t endless_loops_ = 0, folded_ = 0, views_ = 0;
};

// The order in which the nodes of an ONNX graph can be looked at.

// Nodes after those whose results they read. Models are sorted as the standard asks; others are
// sorted here, the first possible node of the file first. `is_given` says which values are there
// already. Throws InputError for a value that is given twice and for a cycle.
std::vector<std::size_t> onnx_order(const std::string& file, const std::vector<OnnxNode>& nodes,
                                    const std::function<bool(std::string_view)>& is_given);

}  // namespace doppler::formats
