// The common parts of the readers of model formats (ONNX, HLO, ncnn) and of the writers:
// ModelGraph, in which a model's operations are collected on their way to a Graph; the sizes that
// are assumed for open dimensions; and notes on what a graph holds beyond nodes, edges and costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/graph/graph.h"

namespace doppler::formats {

// A model's operations and tensors. Readers add them as they meet them, operands before the
// operations that read them. build() leaves out operations that no result of the model needs, and
// inputs and parameters that nothing reads. It makes names unique: the first of a name keeps it,
// others get ".1", ".2", … behind it. Not thread safe; build() may be called once.
class ModelGraph {
 public:
  using Tensor = std::uint32_t;  // dense index of a tensor, in the order added
  using Op = std::uint32_t;      // dense index of an operation, in the order added

  struct OpSpec {
    std::string name;
    std::string kind;
    std::string scope = {};  // its place in the model (see Graph::scope); empty: not known
    double flops = 0.0;
    // Absent: the bytes of all distinct operands, and of all results.
    std::optional<double> bytes_read = std::nullopt;
    std::optional<double> bytes_written = std::nullopt;
    // See graph::Graph::works(). build() leaves out of them what the node says by itself.
    std::vector<kernel::Work> works = {};
    std::vector<Tensor> operands = {};
    bool kept = false;  // has an effect besides its results, so it is never left out
  };

  // The type is that of the elements; absent: not known.
  Tensor add_input(std::string name, double bytes, std::optional<ElementType> type = std::nullopt) {
    return add_tensor({std::move(name), bytes, type, graph::TensorRole::kInput});
  }
  Tensor add_parameter(std::string name, double bytes,
                       std::optional<ElementType> type = std::nullopt) {
    return add_tensor({std::move(name), bytes, type, graph::TensorRole::kParameter});
  }
  Op add_op(OpSpec spec);
  Tensor add_result(Op op, std::string name, double bytes,
                    std::optional<ElementType> type = std::nullopt);

  void mark_output(Tensor tensor) { tensors_[tensor].output = true; }
  // Declares that the value overwrites the parameter. Does nothing if the value is not the result
  // of an operation, the other not a parameter, their sizes differ, or either is paired already.
  void set_update(Tensor value, Tensor parameter);

  double bytes(Tensor tensor) const { return tensors_[tensor].bytes; }
  std::optional<ElementType> type(Tensor tensor) const { return tensors_[tensor].type; }
  bool is_parameter(Tensor tensor) const {
    return tensors_[tensor].role == graph::TensorRole::kParameter;
  }

  struct Built {
    graph::Graph graph;
    std::vector<NodeId> node_of_op;  // by operation; invalid if it was left out
    std::size_t dropped_ops = 0;
  };
  // Returns the graph. Throws InputError, without a position, if a quantity is too large to compute
  // with.
  Built build(std::string name) &&;

 private:
  static constexpr Tensor kNone = 0xffffffffu;
  struct TensorEntry {
    std::string name;
    double bytes;
    std::optional<ElementType> type;
    graph::TensorRole role;
    Op producer = 0;  // of values only
    bool output = false;
    Tensor updates = kNone;
    bool updated = false;
  };

  Tensor add_tensor(TensorEntry entry);
  std::vector<bool> needed_ops() const;
  void simplify_works(OpSpec& op) const;

  std::vector<OpSpec> ops_;
  std::vector<std::vector<Tensor>> results_;  // by operation
  std::vector<TensorEntry> tensors_;
};

// --- defaults ---
//
// The sizes that readers of models assume where the file and the user leave them open.
// docs/formats/models.md states them, and a note tells of every use.

inline constexpr std::int64_t kDefaultSequence = 128;  // tokens
inline constexpr std::int64_t kDefaultImageSide = 224;
inline constexpr std::int64_t kDefaultSamples = 16'000;  // a second of speech

// Returns the size of a dimension by its name: 128 for sequences, 224 for the sides of images, 0
// for lengths of caches, 1 for a batch. Returns nothing if the name suggests none of these.
std::optional<std::int64_t> default_dimension(std::string_view name);

// --- losses ---

// Returns the notes of a writer whose format holds only nodes, edges and single costs: one for each
// of these that the graph has: inputs and parameters, output marks, updates, times by device kind,
// kernel calls, meta-ops, scopes, constraints.
std::vector<std::string> notes_on_extras(const graph::Graph& graph);

}  // namespace doppler::formats
