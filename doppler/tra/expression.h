// Expressions of the tensor relational algebra: an immutable DAG over relations, which threads
// share freely.
//
// There are seven operators: join, aggregate, rekey, filter, transform, tile, concat; and `extend`,
// the transpose of filter, which gradients need. The functions that build an expression throw
// InputError, with the operator and the types in the message, if it is ill-formed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doppler/tra/block_kernel.h"
#include "doppler/tra/relation_type.h"

namespace doppler::tra {

struct Expression;

// A handle on an expression, which copies share. The destructor of the last one frees the
// expression and those that only it needs, without recursion, since programs of many layers are
// deep.
class Relation {
 public:
  explicit Relation(Expression expression);

  const Expression* operator->() const { return expression_.get(); }
  const Expression& operator*() const { return *expression_; }
  const Expression* get() const { return expression_.get(); }

 private:
  std::shared_ptr<const Expression> expression_;
};

enum class Operator : std::uint8_t {
  kInput,
  kFill,
  kJoin,
  kAggregate,
  kRekey,
  kFilter,
  kExtend,
  kTransform,
  kTile,
  kConcat,
};

enum class InputRole : std::uint8_t { kInput, kParameter };

// Pairs of an old and a new name of a key component or dimension. The component of a split
// dimension is renamed with it.
using Renaming = std::vector<std::pair<std::string, std::string>>;

// One node of the DAG. The comments say which operators use a field.
struct Expression {
  Operator op;
  std::vector<Relation> operands = {};
  RelationType type = {};
  std::string name = {};  // of the operation that it is part of; inputs always have one

  InputRole role = InputRole::kInput;  // kInput
  BlockKernel kernel = {};             // kJoin, kTransform, kFill
  Combine combine = Combine::kAdd;     // kAggregate
  Renaming renaming = {};              // kRekey
  std::string dimension = {};          // kTile, kConcat
};

std::string_view operator_name(Operator op);

// Returns a relation whose values come from outside.
Relation input(std::string name, RelationType type, InputRole role = InputRole::kInput);
// Returns a relation with the same number everywhere.
Relation fill(RelationType type, double value);
// Pairs the keys of both that agree in the components that they share; the kernel combines the
// blocks of each pair.
Relation join(const Relation& a, const Relation& b, BlockKernel kernel);
// Drops these key components and combines blocks whose keys become equal.
Relation aggregate(const Relation& a, const std::vector<std::string>& components, Combine combine);
// Renames, then adds key components, with the same block for each of their values.
Relation rekey(const Relation& a, const Renaming& renaming,
               const std::vector<KeyComponent>& added = {});
// Keeps the keys for which `keep` holds (components in the order of the type's keys).
Relation filter(const Relation& a, const std::function<bool(std::span<const std::int64_t>)>& keep);
// Keeps the keys in `keys`, which has the same components in any order.
Relation filter(const Relation& a, const KeySet& keys);
// Adds blocks of zeros for those of `keys` that the relation lacks.
Relation extend(const Relation& a, const KeySet& keys);
// Applies the kernel to every block.
Relation transform(const Relation& a, BlockKernel kernel);
// Splits a dimension into parts and adds a key component for it.
Relation tile(const Relation& a, const std::string& dimension, std::int64_t parts);
// Joins the parts of a split dimension and drops its key component.
Relation concat(const Relation& a, const std::string& dimension);

// Returns the number of blocks that an expression has or that one of its operands has, whichever is
// more: what it costs to lower.
std::size_t block_count(const Expression& expression);

// Returns the relation with this name, if it has none yet.
Relation named(const Relation& a, const std::string& name);

// Returns every expression that the roots need, each once and after its operands.
std::vector<Relation> in_order(std::span<const Relation> roots);

}  // namespace doppler::tra
