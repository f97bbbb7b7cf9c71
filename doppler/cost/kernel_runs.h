// Kernel runs: what a node of a graph does, kernel by kernel, as models of costs see it; and the
// bytes of tensors, both under the precision with which a model is deployed.
#pragma once

#include <optional>
#include <vector>

#include "doppler/base/element_type.h"
#include "doppler/base/id.h"
#include "doppler/graph/graph.h"
#include "doppler/kernel/work.h"

namespace doppler::cost {

// The type in which a deployed model holds all floating-point numbers and computes with them,
// whatever the type in the model's file. Absent: as in the file. Tensors whose type is not known
// are taken to hold f32.
using Precision = std::optional<ElementType>;

// A kernel that a node runs `count` times in a row, with all that is known of it filled in.
struct KernelRun {
  kernel::WorkClass work_class = kernel::WorkClass::kElementwise;
  ElementType type = ElementType::kF32;  // that it computes in
  double count = 1.0;
  // Of one run, read and written; absent where the graph does not know them.
  std::optional<double> flops = std::nullopt, bytes = std::nullopt;
  double bytes_read = 0.0;  // of `bytes`
  // As in kernel::Work; 0 where they are not known.
  double batch = 1.0, rows = 0.0, columns = 0.0, depth = 0.0;

  bool is_product() const { return rows > 0.0 && columns > 0.0 && depth > 0.0; }
};

// The kernels of a graph's nodes. Keeps a reference to the graph. Immutable, so threads share it.
class KernelRuns {
 public:
  KernelRuns(const graph::Graph& graph, Precision precision);

  // Replaces the content of `runs` by the kernels of the node, in their order; never by none.
  void of(NodeId node, std::vector<KernelRun>& runs) const;

 private:
  const graph::Graph& graph_;
  Precision precision_;
  std::vector<kernel::WorkClass> class_of_op_;  // by Graph::op_kind_index()
};

// Returns the bytes of a tensor; nothing where they are not known.
std::optional<double> tensor_bytes(const graph::Graph& graph, TensorId tensor, Precision precision);

}  // namespace doppler::cost
