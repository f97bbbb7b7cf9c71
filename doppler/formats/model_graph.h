// A model's operations on their way to a Graph, for the readers of model formats (ONNX, HLO, ncnn).
//
// Readers add what they meet, in any order in which operands come before their readers. build()
// leaves out operations that no result of the model needs and inputs and parameters that nobody
// reads, and makes names unique: the first of a name keeps it, others get ".1", ".2", … behind it.
//
// Not thread safe. build() may be called once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/graph/graph.h"

namespace doppler::formats {

class ModelGraph {
 public:
  using Tensor = std::uint32_t;  // an index, dense, in the order added
  using Op = std::uint32_t;      // the same of operations

  struct OpSpec {
    std::string name;
    std::string kind;
    std::string scope = {};  // where it belongs in the model; empty: not known
    double flops = 0.0;
    // Absent: the bytes of all distinct operands, of all results.
    std::optional<double> bytes_read = std::nullopt;
    std::optional<double> bytes_written = std::nullopt;
    std::vector<Tensor> operands = {};
    bool kept = false;  // has an effect besides its results, so it is never left out
  };

  Tensor add_input(std::string name, double bytes) {
    return add_tensor(std::move(name), bytes, graph::TensorRole::kInput, 0);
  }
  Tensor add_parameter(std::string name, double bytes) {
    return add_tensor(std::move(name), bytes, graph::TensorRole::kParameter, 0);
  }
  Op add_op(OpSpec spec);
  Tensor add_result(Op op, std::string name, double bytes);

  void mark_output(Tensor tensor) { tensors_[tensor].output = true; }
  // The value is the new content of the parameter, written in place. Ignored where the value is no
  // operation's result, the tensor no parameter, or either is already paired.
  void set_update(Tensor value, Tensor parameter);

  double bytes(Tensor tensor) const { return tensors_[tensor].bytes; }
  bool is_parameter(Tensor tensor) const {
    return tensors_[tensor].role == graph::TensorRole::kParameter;
  }
  std::size_t op_count() const { return ops_.size(); }

  struct Built {
    graph::Graph graph;
    std::vector<NodeId> node_of_op;  // invalid where it was left out
    std::size_t dropped_ops = 0;
  };
  // Throws InputError without a place where a quantity is too large to compute with.
  Built build(std::string name) &&;

 private:
  static constexpr Tensor kNone = 0xffffffffu;
  struct TensorEntry {
    std::string name;
    double bytes;
    graph::TensorRole role;
    Op producer;  // of values only
    bool output = false;
    Tensor updates = kNone;
    bool updated = false;
  };

  Tensor add_tensor(std::string name, double bytes, graph::TensorRole role, Op producer);
  std::vector<bool> needed_ops() const;

  std::vector<OpSpec> ops_;
  std::vector<std::vector<Tensor>> results_;  // of each operation
  std::vector<TensorEntry> tensors_;
};

// What readers of models assume where the file and the user leave something open. The values are
// stated in docs/formats/models.md; every use is told in a note.

inline constexpr std::int64_t kDefaultSequence = 128;  // tokens
inline constexpr std::int64_t kDefaultImageSide = 224;
inline constexpr std::int64_t kDefaultSamples = 16'000;  // a second of speech

// The size of a dimension that is only named: 128 for sequences, 224 for the sides of images, 0 for
// what was cached before, 1 for a batch. Nothing where the name says none of these.
std::optional<std::int64_t> default_dimension(std::string_view name);

// What a graph holds beyond nodes, edges and single costs, for the notes of writers whose format
// has no place for it.

// One note for each of these that the graph has: inputs and parameters, output marks, updates,
// times by device kind, kernel calls, meta-ops, constraints.
std::vector<std::string> notes_on_extras(const graph::Graph& graph);

}  // namespace doppler::formats
