#include "doppler/tra/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/graph/builder.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::tra {
namespace {

using graph::MetaRole;
using kernel::KernelCall;
using kernel::Shape;

std::string list(std::span<const std::int64_t> values) {
  return fmt::format("{}", fmt::join(values, ","));
}

class Lowering {
 public:
  explicit Lowering(const kernel::Registry& kernels) : kernels_(kernels) {}

  void add(const Relation& relation, std::vector<Lowered::Input>& inputs) {
    const Expression& e = *relation;
    switch (e.op) {
      case Operator::kInput:
        lower_input(e);
        inputs.push_back({relation, blocks_.at(&e)});
        break;
      case Operator::kFill:
      case Operator::kJoin:
      case Operator::kTransform:
        lower_kernel(e);
        break;
      case Operator::kAggregate:
        lower_aggregate(e);
        break;
      case Operator::kRekey:
        lower_rekey(e);
        break;
      case Operator::kFilter:
      case Operator::kExtend:
        lower_filter(e);
        break;
      case Operator::kTile:
        lower_tile(e);
        break;
      case Operator::kConcat:
        break;  // made by blocks() if something reads the whole
    }
  }

  // Returns the tensors that hold the relation's blocks, by key, and makes those of a concatenation
  // on first use.
  const std::vector<TensorId>& blocks(const Relation& relation) {
    const auto found = blocks_.find(relation.get());
    if (found != blocks_.end()) return found->second;
    DOPPLER_CHECK(relation->op == Operator::kConcat);
    lower_concat(*relation);
    return blocks_.at(relation.get());
  }

  graph::GraphBuilder& builder() { return builder_; }

  // Makes a tensor an output of the graph and, if `updates` is given, the new value of that
  // parameter.
  void mark_output(TensorId tensor, std::optional<TensorId> updates) {
    output_.insert(tensor.value());
    if (updates) updates_.emplace(tensor.value(), *updates);
  }

  // Adds all tensors and edges to the builder. To be called once, after the last mark_output().
  void finish() {
    for (Tensor& tensor : tensors_) {
      const auto id = static_cast<std::uint32_t>(&tensor - tensors_.data());
      const auto updates = updates_.find(id);
      builder_.add_tensor({.name = std::move(tensor.name),
                           .role = tensor.role,
                           .producer = tensor.producer,
                           .bytes = tensor.bytes,
                           .output = output_.contains(id) && tensor.producer.valid(),
                           .updates = updates != updates_.end() ? updates->second : TensorId()});
    }
    for (const auto& [tensor, node] : edges_) builder_.connect(tensor, node);
  }

 private:
  struct Tensor {
    std::string name;
    graph::TensorRole role;
    NodeId producer;
    double bytes;
    Shape shape;
  };
  struct Work {
    double flops = 0.0, bytes_read = 0.0, bytes_written = 0.0;
  };

  std::string unique(std::string name) {
    const auto [at, fresh] = names_.emplace(name, 1);
    if (fresh) return name;
    std::string other;
    do {
      other = fmt::format("{}~{}", name, ++at->second);
    } while (!names_.emplace(other, 1).second);
    return other;
  }

  static std::string block_name(const std::string& name, std::span<const std::int64_t> key) {
    return key.empty() ? name : fmt::format("{}[{}]", name, list(key));
  }

  TensorId new_tensor(std::string name, graph::TensorRole role, NodeId producer, Shape shape) {
    double elements = 1.0;
    for (const std::int64_t size : shape) elements *= static_cast<double>(size);
    tensors_.push_back(
        {std::move(name), role, producer, kernel::kBytesPerElement * elements, std::move(shape)});
    return TensorId::of(tensors_.size() - 1);
  }

  // Checks a call and returns its work. Calls with the same identity (name and attributes) and
  // shapes are checked only once, since most blocks of a relation are alike.
  const Work& work_of(const KernelCall& kernel, std::string identity) {
    for (const Shape& shape : kernel.inputs) {
      identity.append(1, '|');
      for (const std::int64_t size : shape) identity.append(std::to_string(size)).append(1, ',');
    }
    const auto [at, fresh] = work_.emplace(std::move(identity), Work());
    if (fresh) {
      const kernel::Kernel& rules = kernels_.at(kernel.name);
      rules.check(kernel);
      at->second = {rules.flops(kernel), rules.bytes_read(kernel), rules.bytes_written(kernel)};
    }
    return at->second;
  }

  // Returns the tensor that a kernel call gives, and adds a node for it unless the same call on the
  // same tensors was made before.
  TensorId call(const KernelCall& kernel, const std::vector<TensorId>& operands,
                const std::string& operation, std::span<const std::int64_t> key,
                const std::string& meta_op, MetaRole role) {
    std::string identity = kernel.name;
    for (const auto& [name, value] : kernel.attributes) {
      identity.append(1, ' ').append(name).append(1, '=').append(value);
    }
    const std::size_t without_operands = identity.size();
    for (const TensorId operand : operands) {
      identity.append(1, ' ').append(std::to_string(operand.value()));
    }
    const auto [at, fresh] = made_.emplace(identity, TensorId());
    if (!fresh) return at->second;

    identity.resize(without_operands);
    const Work& work = work_of(kernel, std::move(identity));
    const std::string name = unique(block_name(operation, key));
    const NodeId node = builder_.add_node({.name = name,
                                           .op = kernel.name,
                                           .flops = work.flops,
                                           .bytes_read = work.bytes_read,
                                           .bytes_written = work.bytes_written,
                                           .kernel = kernel,
                                           .meta_op = meta_op,
                                           .meta_role = role});
    for (const TensorId operand : operands) edges_.emplace_back(operand, node);
    at->second = new_tensor(name, graph::TensorRole::kValue, node, kernel.outputs[0]);
    return at->second;
  }

  void lower_input(const Expression& e) {
    std::vector<TensorId>& result = blocks_[&e];
    for (std::size_t i = 0; i < e.type.keys.size(); ++i) {
      const Key key = e.type.keys.key(i);
      result.push_back(new_tensor(unique(block_name(e.name, key)),
                                  e.role == InputRole::kParameter ? graph::TensorRole::kParameter
                                                                  : graph::TensorRole::kInput,
                                  NodeId(), e.type.block_shape(key)));
    }
  }

  void lower_kernel(const Expression& e) {
    std::vector<TensorId> result;
    std::vector<const std::vector<TensorId>*> operand_blocks;
    std::vector<std::vector<std::size_t>> places;  // by operand: its components' indices in the key
    for (const Relation& operand : e.operands) {
      blocks(operand);
      std::vector<std::size_t> place;
      for (const KeyComponent& component : operand->type.keys.components()) {
        place.push_back(static_cast<std::size_t>(e.type.keys.find(component.name)));
      }
      places.push_back(std::move(place));
    }
    for (const Relation& operand : e.operands) operand_blocks.push_back(&blocks(operand));

    std::vector<Key> keys(e.operands.size());
    for (std::size_t i = 0; i < e.type.keys.size(); ++i) {
      const Key key = e.type.keys.key(i);
      std::vector<BlockRef> refs;
      std::vector<TensorId> operands;
      for (std::size_t o = 0; o < e.operands.size(); ++o) {
        keys[o].clear();
        for (const std::size_t place : places[o]) keys[o].push_back(key[place]);
        refs.push_back({&e.operands[o]->type, keys[o]});
        const std::int64_t position = e.operands[o]->type.keys.position(keys[o]);
        operands.push_back((*operand_blocks[o])[static_cast<std::size_t>(position)]);
      }
      result.push_back(call(kernel_call(e.kernel, refs, {&e.type, key}), operands, e.name, key,
                            e.name, MetaRole::kShard));
    }
    blocks_.emplace(&e, std::move(result));
  }

  void lower_aggregate(const Expression& e) {
    const Relation& a = e.operands[0];
    const std::vector<TensorId>& parts = blocks(a);
    std::vector<std::vector<TensorId>> groups(e.type.keys.size());
    std::vector<std::size_t> place;
    for (const KeyComponent& component : e.type.keys.components()) {
      place.push_back(static_cast<std::size_t>(a->type.keys.find(component.name)));
    }
    Key group(place.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Key key = a->type.keys.key(i);
      for (std::size_t c = 0; c < place.size(); ++c) group[c] = key[place[c]];
      groups[static_cast<std::size_t>(e.type.keys.position(group))].push_back(parts[i]);
    }
    std::vector<TensorId> result;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].size() == 1) {
        result.push_back(groups[i][0]);
        continue;
      }
      const Key key = e.type.keys.key(i);
      const Shape shape = e.type.block_shape(key);
      KernelCall kernel{.name = e.combine == Combine::kAdd ? "add_n" : "max_n",
                        .attributes = {},
                        .inputs = std::vector<Shape>(groups[i].size(), shape),
                        .outputs = {shape}};
      result.push_back(call(kernel, groups[i], e.name + ".sum", key, e.name, MetaRole::kReduction));
    }
    blocks_.emplace(&e, std::move(result));
  }

  void lower_rekey(const Expression& e) {
    const Relation& a = e.operands[0];
    const std::vector<TensorId>& from = blocks(a);
    std::vector<TensorId> result;
    for (std::size_t i = 0; i < e.type.keys.size(); ++i) {
      const Key key = e.type.keys.key(i);
      const std::int64_t position =
          a->type.keys.position(std::span(key).first(a->type.keys.rank()));
      result.push_back(from[static_cast<std::size_t>(position)]);
    }
    blocks_.emplace(&e, std::move(result));
  }

  void lower_filter(const Expression& e) {
    const Relation& a = e.operands[0];
    const std::vector<TensorId>& from = blocks(a);
    std::vector<TensorId> result;
    for (std::size_t i = 0; i < e.type.keys.size(); ++i) {
      const Key key = e.type.keys.key(i);
      const std::int64_t position = a->type.keys.position(key);
      if (position >= 0) {
        result.push_back(from[static_cast<std::size_t>(position)]);
        continue;
      }
      const Shape shape = e.type.block_shape(key);
      result.push_back(call({.name = "fill",
                             .attributes = {{"shape", list(shape)}, {"value", "0"}},
                             .inputs = {},
                             .outputs = {shape}},
                            {}, e.name + ".zero", key, e.name, MetaRole::kShard));
    }
    blocks_.emplace(&e, std::move(result));
  }

  // Returns the part [begin, end) of dimension d of a tensor, which is the tensor itself if that is
  // all of it.
  TensorId slice(TensorId tensor, std::size_t d, std::int64_t begin, std::int64_t end,
                 const std::string& name, const Key& key) {
    const Shape before = tensors_[tensor.index()].shape;
    if (begin == 0 && end == before[d]) return tensor;
    Shape from(before.size(), 0), to = before;
    from[d] = begin;
    to[d] = end;
    Shape after = before;
    after[d] = end - begin;
    return call({.name = "slice",
                 .attributes = {{"begin", list(from)}, {"end", list(to)}},
                 .inputs = {before},
                 .outputs = {after}},
                {tensor}, name + ".slice", key, name + ".move", MetaRole::kShard);
  }

  TensorId joined(const std::vector<TensorId>& pieces, std::size_t d, const std::string& name,
                  const Key& key) {
    if (pieces.size() == 1) return pieces[0];
    std::vector<Shape> shapes;
    Shape whole = tensors_[pieces[0].index()].shape;
    whole[d] = 0;
    for (const TensorId piece : pieces) {
      shapes.push_back(tensors_[piece.index()].shape);
      whole[d] += shapes.back()[d];
    }
    return call({.name = "concat",
                 .attributes = {{"dim", fmt::format("{}", d)}},
                 .inputs = std::move(shapes),
                 .outputs = {whole}},
                pieces, name + ".concat", key, name + ".move", MetaRole::kShard);
  }

  // Splits a dimension. If the operand is a concatenation along it that nothing has needed so far,
  // slices are taken from the parts that overlap, and the whole is never made.
  void lower_tile(const Expression& e) {
    const auto d = static_cast<std::size_t>(find(e.type.dimensions, e.dimension));
    const Dimension& after = e.type.dimensions[d];
    Relation source = e.operands[0];
    Dimension before = source->type.dimensions[d];
    std::ptrdiff_t split = -1;  // index of the part in the source's keys; -1: it is not split
    if (source->op == Operator::kConcat && source->dimension == e.dimension &&
        !blocks_.contains(source.get())) {
      source = Relation(source->operands[0]);
      before = source->type.dimensions[d];
      split = source->type.keys.find(e.dimension);
    }
    const std::vector<TensorId>& from = blocks(source);
    std::vector<TensorId> result;
    for (std::size_t i = 0; i < e.type.keys.size(); ++i) {
      const Key key = e.type.keys.key(i);
      const std::int64_t begin = after.begin(key.back()), end = after.begin(key.back() + 1);
      std::vector<TensorId> pieces;
      for (std::int64_t part = before.part_at(begin); part <= before.part_at(end - 1); ++part) {
        const std::int64_t part_begin = before.begin(part), part_end = before.begin(part + 1);
        Key theirs(key.begin(), key.end() - 1);
        if (split >= 0) theirs.insert(theirs.begin() + split, part);
        const auto position = static_cast<std::size_t>(source->type.keys.position(theirs));
        pieces.push_back(slice(from[position], d, std::max(begin, part_begin) - part_begin,
                               std::min(end, part_end) - part_begin, e.name, key));
      }
      result.push_back(joined(pieces, d, e.name, key));
    }
    blocks_.emplace(&e, std::move(result));
  }

  void lower_concat(const Expression& e) {
    const Relation& a = e.operands[0];
    const std::vector<TensorId>& from = blocks(a);
    const auto d = static_cast<std::size_t>(find(e.type.dimensions, e.dimension));
    const std::ptrdiff_t split = a->type.keys.find(e.dimension);
    std::vector<TensorId> result;
    for (std::size_t i = 0; i < e.type.keys.size(); ++i) {
      const Key key = e.type.keys.key(i);
      std::vector<TensorId> pieces;
      for (std::int64_t part = 0; part < a->type.dimensions[d].parts; ++part) {
        Key theirs = key;
        theirs.insert(theirs.begin() + split, part);
        pieces.push_back(from[static_cast<std::size_t>(a->type.keys.position(theirs))]);
      }
      result.push_back(joined(pieces, d, e.name, key));
    }
    blocks_.emplace(&e, std::move(result));
  }

  const kernel::Registry& kernels_;
  graph::GraphBuilder builder_;
  std::vector<Tensor> tensors_;
  std::vector<std::pair<TensorId, NodeId>> edges_;
  // By key of each relation. References to the vectors stay valid while others are added.
  std::unordered_map<const Expression*, std::vector<TensorId>> blocks_;
  std::unordered_map<std::string, TensorId> made_;
  std::unordered_map<std::string, Work> work_;
  std::unordered_map<std::string, std::size_t> names_;
  std::unordered_set<std::uint32_t> output_;
  std::unordered_map<std::uint32_t, TensorId> updates_;
};

// Returns, for each block of a new value, the index of the parameter's block with the same parts.
// The components of their keys may be in different orders. Throws InputError if the two are split
// in different ways.
std::vector<std::size_t> updated_blocks(const Relation& value, const Relation& parameter) {
  const KeySet& from = value->type.keys;
  const KeySet& to = parameter->type.keys;
  bool alike = value->type.dimensions == parameter->type.dimensions && from.size() == to.size() &&
               from.rank() == to.rank();
  std::vector<std::size_t> place;
  for (const KeyComponent& component : to.components()) {
    const int found = from.find(component.name);
    alike = alike && found >= 0 && from.components()[static_cast<std::size_t>(found)] == component;
    place.push_back(static_cast<std::size_t>(found));
  }
  std::vector<std::size_t> result;
  Key key(to.rank());
  for (std::size_t i = 0; alike && i < from.size(); ++i) {
    const Key theirs = from.key(i);
    for (std::size_t c = 0; c < place.size(); ++c) key[c] = theirs[place[c]];
    const std::int64_t position = to.position(key);
    alike = position >= 0;
    result.push_back(static_cast<std::size_t>(position));
  }
  if (!alike) {
    throw InputError(
        fmt::format("the new value of '{}' is split in another way than it", parameter->name));
  }
  return result;
}

}  // namespace

Lowered lower(std::span<const Root> roots, const kernel::Registry& kernels,
              const std::string& graph_name) {
  Lowering lowering(kernels);
  lowering.builder().set_name(graph_name);
  std::vector<Relation> relations;
  for (const Root& root : roots) relations.push_back(root.relation);
  std::vector<Lowered::Input> inputs;
  std::vector<std::vector<TensorId>> results;
  for (const Relation& relation : in_order(relations)) lowering.add(relation, inputs);
  for (const Root& root : roots) {
    const std::vector<TensorId>& blocks = lowering.blocks(root.relation);
    std::vector<std::size_t> updated;
    if (root.updates) updated = updated_blocks(root.relation, *root.updates);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      std::optional<TensorId> updates;
      if (root.updates) updates = lowering.blocks(*root.updates)[updated[i]];
      lowering.mark_output(blocks[i], updates);
    }
    results.push_back(blocks);
  }
  lowering.finish();
  return {std::move(lowering.builder()).build(), std::move(results), std::move(inputs)};
}

}  // namespace doppler::tra
