#include "doppler/formats/model_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "doppler/graph/builder.h"

namespace doppler::formats {

namespace {

// Limits the quantities of a work to those that graphs hold. Only damaged models exceed them.
void limit(kernel::Work& work) {
  for (double* number : {&work.count, &work.batch, &work.rows, &work.columns, &work.depth})
    *number = std::min(*number, kernel::kLargestOfWork);
  for (std::optional<double>* number : {&work.flops, &work.bytes_read, &work.bytes_written}) {
    if (*number) *number = std::min(**number, kernel::kLargestOfWork);
  }
}

class UniqueNames {
 public:
  // Takes a name of the model. All are taken before any name is made up, so that they keep theirs.
  void reserve(const std::string& name) { reserved_.insert(name); }

  std::string make(const std::string& name) {
    std::uint32_t& uses = uses_[name];
    if (uses++ == 0) return name;
    std::string numbered;
    do {
      numbered = fmt::format("{}.{}", name, uses++ - 1);
    } while (!reserved_.insert(numbered).second);
    --uses;
    return numbered;
  }

 private:
  std::unordered_set<std::string> reserved_;
  std::unordered_map<std::string, std::uint32_t> uses_;
};

}  // namespace

ModelGraph::Op ModelGraph::add_op(OpSpec spec) {
  ops_.push_back(std::move(spec));
  results_.emplace_back();
  return static_cast<Op>(ops_.size() - 1);
}

ModelGraph::Tensor ModelGraph::add_result(Op op, std::string name, double bytes,
                                          std::optional<ElementType> type) {
  const Tensor tensor = add_tensor({std::move(name), bytes, type, graph::TensorRole::kValue, op});
  results_[op].push_back(tensor);
  return tensor;
}

ModelGraph::Tensor ModelGraph::add_tensor(TensorEntry entry) {
  tensors_.push_back(std::move(entry));
  return static_cast<Tensor>(tensors_.size() - 1);
}

void ModelGraph::set_update(Tensor value, Tensor parameter) {
  TensorEntry& source = tensors_[value];
  TensorEntry& target = tensors_[parameter];
  if (source.role != graph::TensorRole::kValue || target.role != graph::TensorRole::kParameter ||
      source.updates != kNone || target.updated || source.bytes != target.bytes) {
    return;
  }
  source.updates = parameter;
  target.updated = true;
}

// Returns which operations a result of the model needs. Operations are added after the producers of
// their operands, so that one pass from the last to the first suffices.
std::vector<bool> ModelGraph::needed_ops() const {
  std::vector<bool> needed(ops_.size(), false);
  bool any = false;
  for (std::size_t i = 0; i < ops_.size(); ++i) any |= needed[i] = ops_[i].kept;
  for (const TensorEntry& tensor : tensors_) {
    if (tensor.output && tensor.role == graph::TensorRole::kValue) {
      any |= needed[tensor.producer] = true;
    }
  }
  // If a model marks no result, all are taken to be needed.
  if (!any) return std::vector<bool>(ops_.size(), true);
  for (std::size_t i = ops_.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Tensor operand : ops_[i].operands) {
      const TensorEntry& tensor = tensors_[operand];
      if (tensor.role == graph::TensorRole::kValue) needed[tensor.producer] = true;
    }
  }
  return needed;
}

// Leaves out of the works what follows from the node: the class that its kind names, the type of
// its first floating operand, and of a work that is all of the node its flops and bytes. A work of
// which nothing is left is none.
void ModelGraph::simplify_works(OpSpec& op) const {
  if (op.works.empty()) return;
  const kernel::WorkClass class_of_kind = kernel::classify_op(op.kind);
  std::optional<ElementType> type_of_operands;
  for (const Tensor operand : op.operands) {
    const std::optional<ElementType> type = tensors_[operand].type;
    if (!type_of_operands && type && is_floating(*type)) type_of_operands = type;
  }
  for (kernel::Work& work : op.works) {
    limit(work);
    if (work.work_class == class_of_kind) work.work_class.reset();
    if (work.type == type_of_operands) work.type.reset();
  }
  if (op.works.size() > 1) return;
  kernel::Work& work = op.works.front();
  const auto leave_out = [&](std::optional<double>& quantity, std::optional<double> of_node) {
    if (quantity && of_node && *quantity * work.count == *of_node) quantity.reset();
  };
  leave_out(work.flops, op.flops);
  leave_out(work.bytes_read, op.bytes_read);
  leave_out(work.bytes_written, op.bytes_written);
  if (work == kernel::Work{}) op.works.clear();
}

ModelGraph::Built ModelGraph::build(std::string name) && {
  const std::vector<bool> needed = needed_ops();
  std::vector<bool> read(tensors_.size(), false);
  UniqueNames node_names, tensor_names;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (!needed[i]) continue;
    node_names.reserve(ops_[i].name);
    for (const Tensor tensor : ops_[i].operands) read[tensor] = true;
  }
  for (const TensorEntry& tensor : tensors_) tensor_names.reserve(tensor.name);

  graph::GraphBuilder builder;
  builder.set_name(std::move(name));
  std::vector<NodeId> node_of_op(ops_.size());
  std::size_t dropped = 0;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (!needed[i]) {
      ++dropped;
      continue;
    }
    OpSpec& op = ops_[i];
    if (!op.bytes_read) {
      std::vector<Tensor> distinct = op.operands;
      std::sort(distinct.begin(), distinct.end());
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      double sum = 0.0;
      for (const Tensor tensor : distinct) sum += tensors_[tensor].bytes;
      op.bytes_read = sum;
    }
    if (!op.bytes_written) {
      double sum = 0.0;
      for (const Tensor tensor : results_[i]) sum += tensors_[tensor].bytes;
      op.bytes_written = sum;
    }
    simplify_works(op);
    node_of_op[i] = builder.add_node({.name = node_names.make(op.name),
                                      .op = std::move(op.kind),
                                      .scope = std::move(op.scope),
                                      .flops = op.flops,
                                      .bytes_read = op.bytes_read,
                                      .bytes_written = op.bytes_written,
                                      .works = std::move(op.works)});
  }
  std::vector<TensorId> tensor_ids(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorEntry& tensor = tensors_[i];
    const bool is_value = tensor.role == graph::TensorRole::kValue;
    if (is_value ? !needed[tensor.producer] : !read[i]) continue;
    tensor_ids[i] =
        builder.add_tensor({.name = tensor_names.make(tensor.name),
                            .role = tensor.role,
                            .producer = is_value ? node_of_op[tensor.producer] : NodeId{},
                            .bytes = tensor.bytes,
                            .type = tensor.type,
                            .output = tensor.output && is_value});
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor parameter = tensors_[i].updates;
    if (parameter == kNone || !tensor_ids[i].valid() || !tensor_ids[parameter].valid()) continue;
    builder.set_updates(tensor_ids[i], tensor_ids[parameter]);
  }
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (!needed[i]) continue;
    for (const Tensor tensor : ops_[i].operands) builder.connect(tensor_ids[tensor], node_of_op[i]);
  }
  return {std::move(builder).build(), std::move(node_of_op), dropped};
}

std::optional<std::int64_t> default_dimension(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  if (has("past") && !has("+") && !has("total")) return 0;
  if (has("seq") || has("length") || has("time") || has("token") || has("frames")) {
    return kDefaultSequence;
  }
  if (has("height") || has("width")) return kDefaultImageSide;
  if (has("batch")) return 1;
  return std::nullopt;
}

std::vector<std::string> notes_on_extras(const graph::Graph& graph) {
  std::size_t given = 0, outputs = 0, updates = 0, kinds = 0, kernels = 0, scopes = 0;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const TensorId tensor = TensorId::of(t);
    given += graph.role(tensor) != graph::TensorRole::kValue;
    outputs += graph.is_output(tensor);
    updates += graph.updates(tensor).valid();
  }
  for (std::size_t v = 0; v < graph.node_count(); ++v) {
    const NodeId node = NodeId::of(v);
    kinds += !graph.times_by_kind(node).empty();
    kernels += graph.kernel_call(node) != nullptr;
    scopes += !graph.scope(node).empty();
  }
  std::vector<std::string> notes;
  const auto note = [&](std::size_t count, const char* what) {
    if (count > 0) notes.push_back(fmt::format("{} are left out ({})", what, count));
  };
  note(given, "inputs and parameters");
  note(outputs, "marks of graph outputs");
  note(updates, "updates of parameters");
  note(kinds, "times by kind of device");
  note(kernels, "kernel calls");
  note(graph.meta_op_names().size(), "meta-ops");
  note(scopes, "scopes of nodes");
  if (!graph.constraints().empty()) notes.push_back("constraints are left out");
  return notes;
}

}  // namespace doppler::formats
