// Expressions of the tensor relational algebra: an immutable DAG over relations.
//
// Seven operators: join, aggregate, rekey, filter, transform, tile, concat; `extend` is the
// transpose of filter, which gradients need. Ill-formed expressions are refused where they are
// built, with the operator and the types in the message (InputError).
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

// A handle on an expression; copies share it. The last one takes the expression and what only it
// needs with it, without recursion: programs of many layers are deep.
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

// New name of a key component or dimension; a split dimension's component goes with it.
using Renaming = std::vector<std::pair<std::string, std::string>>;

struct Expression {
  Operator op;
  std::vector<Relation> operands = {};
  RelationType type = {};
  std::string name = {};  // of the operation it is part of; inputs always have one

  InputRole role = InputRole::kInput;  // kInput
  BlockKernel kernel = {};             // kJoin, kTransform, kFill
  Combine combine = Combine::kAdd;     // kAggregate
  Renaming renaming = {};              // kRekey
  std::string dimension = {};          // kTile, kConcat
};

std::string_view operator_name(Operator op);

// Values that come from outside.
Relation input(std::string name, RelationType type, InputRole role = InputRole::kInput);
// The same number everywhere.
Relation fill(RelationType type, double value);
// Every pair of keys that agree in the components they share; the kernel combines their blocks.
Relation join(const Relation& a, const Relation& b, BlockKernel kernel);
// Drops these components; blocks whose keys become equal are combined.
Relation aggregate(const Relation& a, const std::vector<std::string>& components, Combine combine);
// Renames, then adds components: the same block for each of their values.
Relation rekey(const Relation& a, const Renaming& renaming,
               const std::vector<KeyComponent>& added = {});
// Keeps the keys for which `keep` holds (components in the order of the type's keys).
Relation filter(const Relation& a, const std::function<bool(std::span<const std::int64_t>)>& keep);
// Keeps those of `keys`, which has the same components in any order.
Relation filter(const Relation& a, const KeySet& keys);
// Blocks of zeros for the keys of `keys` that it lacks.
Relation extend(const Relation& a, const KeySet& keys);
Relation transform(const Relation& a, BlockKernel kernel);
// Splits a dimension, extending the key.
Relation tile(const Relation& a, const std::string& dimension, std::int64_t parts);
// Puts a split dimension together.
Relation concat(const Relation& a, const std::string& dimension);

// The same with a name, for what has none.
Relation named(const Relation& a, const std::string& name);

// Every expression that the roots need, each after its operands.
std::vector<Relation> in_order(std::span<const Relation> roots);

}  // namespace doppler::tra
