#include "doppler/cost/kernel_runs.h"

#include "doppler/kernel/call_work.h"

#include <span>

namespace doppler::cost {
namespace {

// Returns by what factor numbers of a type take more memory under the precision.
double growth(ElementType type, Precision precision) {
  if (!precision || !is_floating(type)) return 1.0;
  return element_bytes(*precision) / element_bytes(type);
}

ElementType held_type(const graph::Graph& graph, TensorId tensor) {
  return graph.element_type(tensor).value_or(ElementType::kF32);
}

// Returns by what factor the bytes of some operands or results together grow. Tensors of unknown
// size do not count.
double growth(const graph::Graph& graph, std::span<const TensorId> tensors, Precision precision) {
  if (!precision) return 1.0;
  double before = 0.0, after = 0.0;
  for (const TensorId tensor : tensors) {
    const double bytes = graph.bytes(tensor).value_or(0.0);
    before += bytes;
    after += bytes * growth(held_type(graph, tensor), precision);
  }
  return before > 0.0 ? after / before : growth(ElementType::kF32, precision);
}

// Returns the type that the node computes in, unless its works say another: that of its first
// floating-point operand, else of such a result; where there are none, i8 if an operand is of 8 or
// 4 bits, else f32.
ElementType computed_type(const graph::Graph& graph, NodeId node) {
  bool narrow = false, known = false;
  for (const auto tensors : {graph.inputs(node), graph.outputs(node)}) {
    for (const TensorId tensor : tensors) {
      const auto type = graph.element_type(tensor);
      if (!type) continue;
      known = true;
      if (is_floating(*type)) return *type;
      narrow |= *type == ElementType::kI8 || *type == ElementType::kI4;
    }
  }
  return known && narrow ? ElementType::kI8 : ElementType::kF32;
}

std::optional<double> scaled(std::optional<double> value, double factor) {
  if (value) *value *= factor;
  return value;
}

std::optional<double> sum(std::optional<double> a, std::optional<double> b) {
  if (!a && !b) return std::nullopt;
  return a.value_or(0.0) + b.value_or(0.0);
}

}  // namespace

KernelRuns::KernelRuns(const graph::Graph& graph, Precision precision)
    : graph_(graph), precision_(precision) {
  for (const std::string& op : graph.op_kinds()) class_of_op_.push_back(kernel::classify_op(op));
}

void KernelRuns::of(NodeId node, std::vector<KernelRun>& runs) const {
  runs.clear();
  auto works = graph_.works(node);
  kernel::Work whole_node;
  if (works.empty()) {
    if (const kernel::KernelCall* call = graph_.kernel_call(node)) whole_node = work_of(*call);
    works = {&whole_node, 1};
  }
  const double read_growth = growth(graph_, graph_.inputs(node), precision_);
  const double write_growth = growth(graph_, graph_.outputs(node), precision_);
  const ElementType node_type = computed_type(graph_, node);
  for (const kernel::Work& work : works) {
    const ElementType type = work.type.value_or(node_type);
    const double own_growth = growth(type, precision_), share = 1.0 / work.count;
    // Bytes of a work are in its own type; those of the node in the types of its tensors.
    const auto bytes_of = [&](const std::optional<double>& own, const std::optional<double>& node_s,
                              double node_growth) {
      return own ? scaled(own, own_growth) : scaled(node_s, share * node_growth);
    };
    KernelRun& run = runs.emplace_back();
    run.work_class = work.work_class.value_or(class_of_op_[graph_.op_kind_index(node)]);
    run.type = precision_ && is_floating(type) ? *precision_ : type;
    run.count = work.count;
    run.flops = work.flops ? work.flops : scaled(graph_.flops(node), share);
    const auto read = bytes_of(work.bytes_read, graph_.bytes_read(node), read_growth);
    run.bytes = sum(read, bytes_of(work.bytes_written, graph_.bytes_written(node), write_growth));
    run.bytes_read = read.value_or(0.0);
    run.batch = work.batch;
    run.rows = work.rows;
    run.columns = work.columns;
    run.depth = work.depth;
    if (!run.flops && run.is_product()) {
      run.flops = 2.0 * run.batch * run.rows * run.columns * run.depth;
    }
  }
}

std::optional<double> tensor_bytes(const graph::Graph& graph, TensorId tensor,
                                   Precision precision) {
  return scaled(graph.bytes(tensor), growth(held_type(graph, tensor), precision));
}

}  // namespace doppler::cost
