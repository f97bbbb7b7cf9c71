#include "doppler/tra/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "doppler/base/error.h"

namespace doppler::tra {

namespace {

// Returns the expression as a relation. Throws InputError, naming the operator and the types of its
// operands, if the type is ill-formed.
Relation make(Expression expression) {
  try {
    expression.type.check();
  } catch (const InputError& error) {
    std::string what(operator_name(expression.op));
    for (const Relation& operand : expression.operands) {
      what += what.find(" of ") == std::string::npos ? " of " : " and ";
      what += operand->type.describe();
    }
    throw InputError(fmt::format("{}: {}", what, error.what()));
  }
  return Relation(std::move(expression));
}

[[noreturn]] void refuse(Operator op, const Relation& a, const std::string& why) {
  throw InputError(fmt::format("{} of {}: {}", operator_name(op), a->type.describe(), why));
}

// Throws InputError if a key component of `a` has the name of an unsplit dimension of `b`, since a
// join would match the two by accident.
void check_names_apart(const Relation& a, const Relation& b) {
  for (const KeyComponent& component : a->type.keys.components()) {
    const int other = find(b->type.dimensions, component.name);
    if (other >= 0 && b->type.dimensions[static_cast<std::size_t>(other)].parts == 1) {
      throw InputError(
          fmt::format("join of {} and {}: '{}' is a key component of one and a whole "
                      "dimension of the other; tile or rename it",
                      a->type.describe(), b->type.describe(), component.name));
    }
  }
}

KeySet joined_keys(const Relation& a, const Relation& b) {
  const KeySet& left = a->type.keys;
  const KeySet& right = b->type.keys;
  std::vector<KeyComponent> components(left.components().begin(), left.components().end());
  std::vector<int> left_place(right.rank());  // index of a right component in the left key, or -1
  for (std::size_t c = 0; c < right.rank(); ++c) {
    const KeyComponent& component = right.components()[c];
    left_place[c] = left.find(component.name);
    if (left_place[c] < 0) {
      components.push_back(component);
    } else if (left.components()[static_cast<std::size_t>(left_place[c])] != component) {
      throw InputError(fmt::format("join of {} and {}: key component '{}' has two extents",
                                   a->type.describe(), b->type.describe(), component.name));
    }
  }
  const KeySet box(components);
  if (left.is_box() && right.is_box()) return box;

  const KeySet fresh(
      {components.begin() + static_cast<std::ptrdiff_t>(left.rank()), components.end()});
  std::vector<std::int64_t> present;  // more than may be are listed by one only
  Key key(box.rank()), right_key(right.rank());
  for (std::size_t i = 0; i < left.size(); ++i) {
    left.key(i, std::span(key).first(left.rank()));
    for (std::size_t j = 0; j < fresh.size() && present.size() <= kMostBlocks; ++j) {
      fresh.key(j, std::span(key).subspan(left.rank()));
      std::size_t next = left.rank();
      for (std::size_t c = 0; c < right.rank(); ++c) {
        right_key[c] =
            left_place[c] >= 0 ? key[static_cast<std::size_t>(left_place[c])] : key[next++];
      }
      if (right.position(right_key) >= 0) present.push_back(box.number(key));
    }
  }
  return KeySet(std::move(components), std::move(present));
}

// Returns `keys` with its components in the order of `like`. Throws InputError, naming the operator
// `op` on `a`, if the two do not have the same components.
KeySet reordered(const KeySet& keys, const KeySet& like, Operator op, const Relation& a) {
  std::vector<std::size_t> place;
  for (const KeyComponent& component : like.components()) {
    const int found = keys.find(component.name);
    if (found < 0 || keys.components()[static_cast<std::size_t>(found)] != component ||
        keys.rank() != like.rank()) {
      refuse(op, a, fmt::format("the keys {} are of another kind", keys.describe()));
    }
    place.push_back(static_cast<std::size_t>(found));
  }
  std::vector<KeyComponent> components(like.components().begin(), like.components().end());
  if (keys.is_box()) return KeySet(std::move(components));
  std::vector<std::int64_t> numbers;
  Key key(keys.rank()), moved(keys.rank());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys.key(i, key);
    for (std::size_t c = 0; c < place.size(); ++c) moved[c] = key[place[c]];
    numbers.push_back(like.number(moved));
  }
  std::sort(numbers.begin(), numbers.end());
  return KeySet(std::move(components), std::move(numbers));
}

std::string renamed(const Renaming& renaming, const std::string& name) {
  for (const auto& [from, to] : renaming) {
    if (from == name) return to;
  }
  return name;
}

// Deletes an expression, and the operands of which it was the last owner. These wait in a list
// instead of being deleted recursively, because programs of many layers would overflow the stack.
void destroy(const Expression* expression) {
  thread_local std::vector<const Expression*>* waiting = nullptr;
  if (waiting) {
    waiting->push_back(expression);
    return;
  }
  std::vector<const Expression*> list{expression};
  waiting = &list;
  while (!list.empty()) {
    const std::unique_ptr<const Expression> next(list.back());
    list.pop_back();
  }
  waiting = nullptr;
}

}  // namespace

Relation::Relation(Expression expression)
    : expression_(new Expression(std::move(expression)), destroy) {}

std::string_view operator_name(Operator op) {
  switch (op) {
    case Operator::kInput:
      return "input";
    case Operator::kFill:
      return "fill";
    case Operator::kJoin:
      return "join";
    case Operator::kAggregate:
      return "aggregate";
    case Operator::kRekey:
      return "rekey";
    case Operator::kFilter:
      return "filter";
    case Operator::kExtend:
      return "extend";
    case Operator::kTransform:
      return "transform";
    case Operator::kTile:
      return "tile";
    case Operator::kConcat:
      return "concat";
  }
  return "?";
}

Relation input(std::string name, RelationType type, InputRole role) {
  return make(
      {.op = Operator::kInput, .type = std::move(type), .name = std::move(name), .role = role});
}

Relation fill(RelationType type, double value) {
  BlockKernel kernel{.form = BlockKernel::Form::kFill,
                     .result = names(type.dimensions),
                     .fresh = type.dimensions,
                     .number = value};
  return make({.op = Operator::kFill, .type = std::move(type), .kernel = std::move(kernel)});
}

Relation join(const Relation& a, const Relation& b, BlockKernel kernel) {
  check_names_apart(a, b);
  check_names_apart(b, a);
  const Dimensions* operands[] = {&a->type.dimensions, &b->type.dimensions};
  RelationType type{joined_keys(a, b), result_dimensions(kernel, operands)};
  return make({.op = Operator::kJoin,
               .operands = {a, b},
               .type = std::move(type),
               .kernel = std::move(kernel)});
}

Relation aggregate(const Relation& a, const std::vector<std::string>& components, Combine combine) {
  const KeySet& keys = a->type.keys;
  for (const std::string& name : components) {
    if (keys.find(name) < 0) {
      refuse(Operator::kAggregate, a, fmt::format("there is no key component '{}'", name));
    }
    if (find(a->type.dimensions, name) >= 0) {
      refuse(Operator::kAggregate, a, fmt::format("'{}' splits a dimension; concat it", name));
    }
  }
  std::vector<KeyComponent> kept;
  std::vector<std::size_t> place;
  for (std::size_t c = 0; c < keys.rank(); ++c) {
    const KeyComponent& component = keys.components()[c];
    if (std::find(components.begin(), components.end(), component.name) == components.end()) {
      kept.push_back(component);
      place.push_back(c);
    }
  }
  KeySet result(kept);
  if (!keys.is_box()) {
    std::vector<std::int64_t> numbers;
    Key key(keys.rank()), group(place.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys.key(i, key);
      for (std::size_t c = 0; c < place.size(); ++c) group[c] = key[place[c]];
      numbers.push_back(result.number(group));
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    result = KeySet(std::move(kept), std::move(numbers));
  }
  return make({.op = Operator::kAggregate,
               .operands = {a},
               .type = {std::move(result), a->type.dimensions},
               .combine = combine});
}

Relation rekey(const Relation& a, const Renaming& renaming,
               const std::vector<KeyComponent>& added) {
  const KeySet& keys = a->type.keys;
  for (const auto& [from, to] : renaming) {
    if (keys.find(from) < 0 && find(a->type.dimensions, from) < 0) {
      refuse(Operator::kRekey, a, fmt::format("there is no '{}'", from));
    }
  }
  std::vector<std::string> components;
  for (const KeyComponent& component : keys.components()) {
    components.push_back(renamed(renaming, component.name));
  }
  RelationType type{keys.renamed(components).times(added), a->type.dimensions};
  for (Dimension& dimension : type.dimensions) dimension.name = renamed(renaming, dimension.name);
  return make(
      {.op = Operator::kRekey, .operands = {a}, .type = std::move(type), .renaming = renaming});
}

Relation filter(const Relation& a, const std::function<bool(std::span<const std::int64_t>)>& keep) {
  const KeySet& keys = a->type.keys;
  std::vector<std::int64_t> kept;
  Key key(keys.rank());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys.key(i, key);
    if (keep(key)) kept.push_back(keys.number(key));
  }
  if (kept.size() == keys.size()) return a;
  if (kept.empty()) refuse(Operator::kFilter, a, "no key is left");
  KeySet result({keys.components().begin(), keys.components().end()}, std::move(kept));
  return make(
      {.op = Operator::kFilter, .operands = {a}, .type = {std::move(result), a->type.dimensions}});
}

Relation filter(const Relation& a, const KeySet& keys) {
  if (keys.is_box() && keys.rank() == a->type.keys.rank()) {
    reordered(keys, a->type.keys, Operator::kFilter, a);  // checks that they are of one kind
    return a;
  }
  const KeySet wanted = reordered(keys, a->type.keys, Operator::kFilter, a);
  return filter(a, [&](std::span<const std::int64_t> key) { return wanted.position(key) >= 0; });
}

Relation extend(const Relation& a, const KeySet& keys) {
  const KeySet wanted = reordered(keys, a->type.keys, Operator::kExtend, a);
  if (wanted == a->type.keys) return a;
  Key key(wanted.rank());
  for (std::size_t i = 0; i < a->type.keys.size(); ++i) {
    a->type.keys.key(i, key);
    if (wanted.position(key) < 0) {
      refuse(Operator::kExtend, a,
             fmt::format("the keys {} lack some of its own", keys.describe()));
    }
  }
  return make({.op = Operator::kExtend, .operands = {a}, .type = {wanted, a->type.dimensions}});
}

Relation transform(const Relation& a, BlockKernel kernel) {
  const Dimensions* operands[] = {&a->type.dimensions};
  RelationType type{a->type.keys, result_dimensions(kernel, operands)};
  return make({.op = Operator::kTransform,
               .operands = {a},
               .type = std::move(type),
               .kernel = std::move(kernel)});
}

Relation tile(const Relation& a, const std::string& dimension, std::int64_t parts) {
  const int d = find(a->type.dimensions, dimension);
  if (d < 0) refuse(Operator::kTile, a, fmt::format("there is no dimension '{}'", dimension));
  if (parts == 1) return a;
  const Dimension& before = a->type.dimensions[static_cast<std::size_t>(d)];
  if (before.parts > 1) refuse(Operator::kTile, a, fmt::format("'{}' is already split", dimension));
  if (parts < 1 || parts > before.size) {
    refuse(Operator::kTile, a,
           fmt::format("'{}' of size {} in {} parts", dimension, before.size, parts));
  }
  RelationType type{a->type.keys.times({{dimension, parts}}), a->type.dimensions};
  type.dimensions[static_cast<std::size_t>(d)].parts = parts;
  return make(
      {.op = Operator::kTile, .operands = {a}, .type = std::move(type), .dimension = dimension});
}

Relation concat(const Relation& a, const std::string& dimension) {
  const int d = find(a->type.dimensions, dimension);
  if (d < 0 || a->type.dimensions[static_cast<std::size_t>(d)].parts == 1) {
    refuse(Operator::kConcat, a, fmt::format("'{}' is not a split dimension", dimension));
  }
  const KeySet& keys = a->type.keys;
  const auto split = static_cast<std::size_t>(keys.find(dimension));
  const auto parts = static_cast<std::size_t>(keys.components()[split].extent);
  std::vector<KeyComponent> kept(keys.components().begin(), keys.components().end());
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(split));
  KeySet result(kept);
  if (!keys.is_box()) {
    std::vector<std::int64_t> numbers;  // each once for every part
    for (std::size_t i = 0; i < keys.size(); ++i) {
      Key key = keys.key(i);
      key.erase(key.begin() + static_cast<std::ptrdiff_t>(split));
      numbers.push_back(result.number(key));
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    if (numbers.size() * parts != keys.size()) {
      refuse(Operator::kConcat, a, fmt::format("some parts of '{}' are absent", dimension));
    }
    result = KeySet(std::move(kept), std::move(numbers));
  }
  RelationType type{std::move(result), a->type.dimensions};
  type.dimensions[static_cast<std::size_t>(d)].parts = 1;
  return make(
      {.op = Operator::kConcat, .operands = {a}, .type = std::move(type), .dimension = dimension});
}

std::size_t block_count(const Expression& expression) {
  std::size_t count = expression.type.keys.size();
  for (const Relation& operand : expression.operands) {
    count = std::max(count, operand->type.keys.size());
  }
  return count;
}

Relation named(const Relation& a, const std::string& name) {
  if (!a->name.empty()) return a;
  Expression copy = *a;
  copy.name = name;
  return Relation(std::move(copy));
}

std::vector<Relation> in_order(std::span<const Relation> roots) {
  std::vector<Relation> order;
  std::unordered_set<const Expression*> done;
  struct Visit {
    Relation relation;
    std::size_t next_operand = 0;
  };
  std::vector<Visit> stack;  // recursion would overflow the call stack in deep programs
  for (const Relation& root : roots) {
    if (!done.insert(root.get()).second) continue;
    stack.push_back({root});
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next_operand < top.relation->operands.size()) {
        const Relation operand = top.relation->operands[top.next_operand++];
        if (done.insert(operand.get()).second) stack.push_back({operand});
        continue;
      }
      order.push_back(std::move(top.relation));
      stack.pop_back();
    }
  }
  return order;
}

}  // namespace doppler::tra
