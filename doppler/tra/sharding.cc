#include "doppler/tra/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "doppler/base/error.h"
#include "doppler/tra/operations.h"

namespace doppler::tra {
namespace {

class Sharder {
 public:
  explicit Sharder(const Sharding& sharding) : sharding_(sharding) {}

  void add(const Relation& relation, std::size_t number) {
    const Expression& e = *relation;
    name_ = !e.name.empty() ? e.name
                            : fmt::format("{}.{}",
                                          e.op == Operator::kJoin || e.op == Operator::kTransform
                                              ? label(e.kernel)
                                              : std::string(operator_name(e.op)),
                                          number);
    // Every operation becomes a meta-op of the graph, so no two may have the same name.
    if (e.op != Operator::kInput && !names_.insert(name_).second) {
      name_ = fmt::format("{}.{}", name_, number);
      names_.insert(name_);
    }
    const Relation result = named(split(e), name_);
    count(result);
    done_.emplace(&e, result);
  }
  const Relation& of(const Relation& relation) const { return done_.at(relation.get()); }

 private:
  // Counts the blocks of a relation and of what was made for it. Throws InputError if the program
  // has too many, before they take much memory.
  void count(const Relation& made) {
    if (!counted_.insert(made.get()).second) return;
    blocks_ += static_cast<std::int64_t>(block_count(*made));
    if (blocks_ > kMostBlocks) {
      throw InputError(fmt::format(
          "split like this, the program has {} blocks up to '{}'; the most is {}: split it less",
          blocks_, name_, kMostBlocks));
    }
    for (const Relation& operand : made->operands) count(operand);
  }

  std::int64_t parts(const Expression& e, const Dimension& dimension) const {
    if (!can_split(e.kernel, dimension.name)) return 1;
    return std::clamp<std::int64_t>(sharding_(e, dimension.name), 1, dimension.size);
  }

  // Returns the relation with the dimension in `wanted` parts. If it has another number of parts,
  // they are put together and split anew.
  Relation retiled(const Relation& a, const std::string& dimension, std::int64_t wanted) const {
    const auto d = static_cast<std::size_t>(find(a->type.dimensions, dimension));
    const std::int64_t is = a->type.dimensions[d].parts;
    if (is == wanted) return a;
    const std::string& name = name_;
    const Relation together = is > 1 ? named(concat(a, dimension), name) : a;
    return wanted > 1 ? named(tile(together, dimension, wanted), name) : together;
  }

  Relation operand(const Expression& e, const Relation& logical) const {
    Relation result = of(logical);
    for (const Dimension& dimension : logical->type.dimensions) {
      result = retiled(result, dimension.name, parts(e, dimension));
    }
    return result;
  }

  Dimensions split_fresh(const Expression& e, std::vector<KeyComponent>& added) const {
    Dimensions fresh = e.kernel.fresh;
    for (Dimension& dimension : fresh) {
      dimension.parts = parts(e, dimension);
      if (dimension.parts > 1) added.push_back({dimension.name, dimension.parts});
    }
    return fresh;
  }

  Relation split(const Expression& e) const {
    switch (e.op) {
      case Operator::kInput:
      case Operator::kFill: {
        RelationType type = e.type;
        std::vector<KeyComponent> added;
        for (Dimension& dimension : type.dimensions) {
          if (dimension.parts > 1) continue;  // split by the program itself
          dimension.parts = parts(e, dimension);
          if (dimension.parts > 1) added.push_back({dimension.name, dimension.parts});
        }
        type.keys = type.keys.times(added);
        return e.op == Operator::kInput ? input(e.name, std::move(type), e.role)
                                        : fill(std::move(type), e.kernel.number);
      }
      case Operator::kJoin:
      case Operator::kTransform: {
        BlockKernel kernel = e.kernel;
        std::vector<KeyComponent> added;
        kernel.fresh = split_fresh(e, added);
        Relation a = operand(e, e.operands[0]);
        if (!added.empty()) a = named(rekey(a, {}, added), name_);
        const Relation parts = e.op == Operator::kJoin
                                   ? join(a, operand(e, e.operands[1]), std::move(kernel))
                                   : transform(a, std::move(kernel));
        return combine_parts(named(parts, name_));
      }
      case Operator::kAggregate: {
        std::vector<std::string> dropped;
        for (const KeyComponent& component : e.operands[0]->type.keys.components()) {
          if (e.type.keys.find(component.name) < 0) dropped.push_back(component.name);
        }
        return aggregate(of(e.operands[0]), dropped, e.combine);
      }
      case Operator::kRekey: {
        const auto components = e.type.keys.components();
        const std::size_t before = e.operands[0]->type.keys.rank();
        return rekey(of(e.operands[0]), e.renaming,
                     {components.begin() + static_cast<std::ptrdiff_t>(before), components.end()});
      }
      case Operator::kFilter: {
        const Relation& a = of(e.operands[0]);
        std::vector<std::size_t> place;
        for (const KeyComponent& component : e.type.keys.components()) {
          place.push_back(static_cast<std::size_t>(a->type.keys.find(component.name)));
        }
        Key logical(place.size());
        return filter(a, [&](std::span<const std::int64_t> key) {
          for (std::size_t c = 0; c < place.size(); ++c) logical[c] = key[place[c]];
          return e.type.keys.position(logical) >= 0;
        });
      }
      case Operator::kExtend: {
        const Relation& a = of(e.operands[0]);
        std::vector<KeyComponent> added;
        for (const KeyComponent& component : a->type.keys.components()) {
          if (e.type.keys.find(component.name) < 0) added.push_back(component);
        }
        return extend(a, e.type.keys.times(added));
      }
      case Operator::kTile: {
        const auto d = static_cast<std::size_t>(find(e.type.dimensions, e.dimension));
        return retiled(of(e.operands[0]), e.dimension, e.type.dimensions[d].parts);
      }
      case Operator::kConcat:
        return retiled(of(e.operands[0]), e.dimension, 1);
    }
    return of(e.operands[0]);
  }

  const Sharding& sharding_;
  std::unordered_map<const Expression*, Relation> done_;
  std::string name_;  // of the operation that is being split
  std::unordered_set<std::string> names_;
  std::unordered_set<const Expression*> counted_;  // kept alive by done_
  std::int64_t blocks_ = 0;
};

}  // namespace

std::vector<Relation> shard(std::span<const Relation> roots, const Sharding& sharding) {
  Sharder sharder(sharding);
  std::size_t number = 0;
  for (const Relation& relation : in_order(roots)) sharder.add(relation, number++);
  std::vector<Relation> result;
  for (const Relation& root : roots) result.push_back(sharder.of(root));
  return result;
}

}  // namespace doppler::tra
