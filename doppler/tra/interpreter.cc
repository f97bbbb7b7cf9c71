#include "doppler/tra/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <unordered_map>

#include "doppler/base/error.h"
#include "doppler/kernel/kernel_call.h"

namespace doppler::tra {
namespace {

using Form = BlockKernel::Form;
using kernel::Shape;
using Values = std::vector<double>;

std::size_t count(const Shape& shape) {
  return static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

// A block with the names of its dimensions, and the index in the whole dimension at which it
// begins.
struct Block {
  std::vector<std::string> names;
  Shape shape;
  Shape begin;
  const Values* values;

  int find(const std::string& name) const {
    const auto at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? -1 : static_cast<int>(at - names.begin());
  }
};

// A point in a space of named dimensions. next() advances it like an odometer, the last dimension
// fastest.
class Odometer {
 public:
  void add(const std::string& name, std::int64_t size) {
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) return;
    names_.push_back(name);
    sizes_.push_back(size);
    at_.push_back(0);
  }
  void add(const Block& block) {
    for (std::size_t d = 0; d < block.names.size(); ++d) add(block.names[d], block.shape[d]);
  }
  std::int64_t operator[](const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    return at_[static_cast<std::size_t>(found - names_.begin())];
  }
  // Returns the index of the block's element at this point; dimensions that the block lacks do not
  // matter.
  std::size_t index(const Block& block) const {
    std::int64_t i = 0;
    for (std::size_t d = 0; d < block.names.size(); ++d) {
      i = i * block.shape[d] + (*this)[block.names[d]];
    }
    return static_cast<std::size_t>(i);
  }
  bool next() {
    for (std::size_t d = at_.size(); d-- > 0;) {
      if (++at_[d] < sizes_[d]) return true;
      at_[d] = 0;
    }
    return false;
  }

 private:
  std::vector<std::string> names_;
  Shape sizes_, at_;
};

// The values of a function and of its first two derivatives at one point.
struct Jet {
  double f, first, second;
};
Jet jet(const std::string& name, double x) {
  if (name == "exp") return {std::exp(x), std::exp(x), std::exp(x)};
  if (name == "log") return {std::log(x), 1 / x, -1 / (x * x)};
  if (name == "sqrt") return {std::sqrt(x), 0.5 / std::sqrt(x), -0.25 * std::pow(x, -1.5)};
  if (name == "rsqrt") {
    return {std::pow(x, -0.5), -0.5 * std::pow(x, -1.5), 0.75 * std::pow(x, -2.5)};
  }
  if (name == "reciprocal") return {1 / x, -1 / (x * x), 2 / (x * x * x)};
  if (name == "relu") return {x > 0 ? x : 0.0, x > 0 ? 1.0 : 0.0, 0.0};
  if (name == "tanh") {
    const double t = std::tanh(x);
    return {t, 1 - t * t, -2 * t * (1 - t * t)};
  }
  if (name == "gelu") {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    return {x * below, below + x * density, density * (2 - x * x)};
  }
  const double s = 1 / (1 + std::exp(-x));
  const double s1 = s * (1 - s), s2 = s1 * (1 - 2 * s);
  if (name == "sigmoid") return {s, s1, s2};
  DOPPLER_CHECK(name == "silu");
  return {x * s, s + x * s1, 2 * s1 + x * s2};
}

double binary_value(const BlockKernel& kernel, double a, double b) {
  const std::string& name = kernel.name;
  if (name == "add") return a + b;
  if (name == "sub") return a - b;
  if (name == "mul") return a * b;
  if (name == "div") return a / b;
  if (name == "max") return std::max(a, b);
  if (name == "equal") return a == b ? 1.0 : 0.0;
  if (name == "greater_equal") return a >= b ? 1.0 : 0.0;
  if (name == "sgd_update") return a - kernel.number * b;
  if (name.ends_with("_grad2")) return b * jet(name.substr(0, name.size() - 6), a).second;
  DOPPLER_CHECK(name.ends_with("_grad"));
  return b * jet(name.substr(0, name.size() - 5), a).first;
}

double unary_value(const BlockKernel& kernel, double x) {
  if (kernel.name == "scale") return kernel.number * x;
  if (kernel.name == "shift") return kernel.number + x;
  return jet(kernel.name, x).f;
}

Values run_rotary(const BlockKernel& kernel, const Block& x) {
  const auto position = static_cast<std::size_t>(x.find(kernel.first));
  const std::int64_t size = x.shape.back(), half = size / 2;
  Values result(x.values->size());
  Odometer at;
  at.add(x);
  do {
    const std::int64_t i = at[kernel.second];
    const double where = static_cast<double>(x.begin[position] + at[kernel.first]);
    const double angle =
        (kernel.inverse ? -1 : 1) * where *
        std::pow(kernel.number, -2.0 * static_cast<double>(i % half) / static_cast<double>(size));
    const std::size_t here = at.index(x);
    const std::size_t partner =
        i < half ? here + static_cast<std::size_t>(half) : here - static_cast<std::size_t>(half);
    result[here] = (*x.values)[here] * std::cos(angle) +
                   (i < half ? -1 : 1) * (*x.values)[partner] * std::sin(angle);
  } while (at.next());
  return result;
}

// Returns the elements of the block `out` that the kernel computes from these operands.
Values run(const BlockKernel& kernel, std::span<const Block> in, const Block& out) {
  const bool is_max = kernel.form == Form::kReduce && kernel.combine == Combine::kMax;
  Values result(count(out.shape), is_max ? -std::numeric_limits<double>::infinity() : 0.0);
  if (kernel.form == Form::kRotary) return run_rotary(kernel, in[0]);
  Odometer at;
  for (const Block& operand : in) at.add(operand);
  if (kernel.form != Form::kScatterAdd) at.add(out);
  do {
    const auto value = [&](std::size_t i) { return (*in[i].values)[at.index(in[i])]; };
    switch (kernel.form) {
      case Form::kContract:
        result[at.index(out)] += value(0) * value(1);
        break;
      case Form::kBinary:
        result[at.index(out)] = binary_value(kernel, value(0), value(1));
        break;
      case Form::kUnary:
        result[at.index(out)] = unary_value(kernel, value(0));
        break;
      case Form::kReduce: {
        double& r = result[at.index(out)];
        r = is_max ? std::max(r, value(0)) : r + value(0);
        break;
      }
      case Form::kBroadcast:
      case Form::kPermute:
        result[at.index(out)] = value(0);
        break;
      case Form::kCausalFill: {
        const std::int64_t row =
            out.begin[static_cast<std::size_t>(out.find(kernel.first))] + at[kernel.first];
        const std::int64_t column =
            out.begin[static_cast<std::size_t>(out.find(kernel.second))] + at[kernel.second];
        result[at.index(out)] = column > row ? kernel.number : value(0);
        break;
      }
      case Form::kGather: {
        const auto row = static_cast<std::int64_t>(value(1)) - in[0].begin[0];
        if (row == at[kernel.first]) result[at.index(out)] += value(0);
        break;
      }
      case Form::kScatterAdd: {
        const auto row = static_cast<std::int64_t>(value(0)) - out.begin[0];
        if (row < 0 || row >= out.shape[0]) break;
        result[static_cast<std::size_t>(row * out.shape[1] + at[out.names[1]])] += value(1);
        break;
      }
      case Form::kFill:
        result[at.index(out)] = kernel.number;
        break;
      case Form::kRotary:
        break;
    }
  } while (at.next());
  return result;
}

class Interpretation {
 public:
  explicit Interpretation(const std::map<std::string, Blocks>& inputs) : inputs_(inputs) {}

  void evaluate(const Expression& e) {
    Blocks& result = values_[&e];
    if (e.op == Operator::kInput) {
      result = checked_input(e);
      return;
    }
    result.resize(e.type.keys.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      const Key key = e.type.keys.key(i);
      result[i] = one(e, key);
    }
  }
  const Blocks& of(const Relation& relation) const { return values_.at(relation.get()); }

 private:
  const Blocks& checked_input(const Expression& e) const {
    const auto found = inputs_.find(e.name);
    if (found == inputs_.end()) throw InputError(fmt::format("no value for '{}'", e.name));
    bool fits = found->second.size() == e.type.keys.size();
    for (std::size_t i = 0; fits && i < found->second.size(); ++i) {
      fits = found->second[i].size() == count(e.type.block_shape(e.type.keys.key(i)));
    }
    if (!fits) {
      throw InputError(
          fmt::format("the value for '{}' is not of type {}", e.name, e.type.describe()));
    }
    return found->second;
  }

  static Block block(const RelationType& type, const Key& key, const Values* values) {
    Block result{names(type.dimensions), type.block_shape(key), {}, values};
    for (std::size_t d = 0; d < type.dimensions.size(); ++d) {
      result.begin.push_back(type.dimensions[d].begin(type.part(d, key)));
    }
    return result;
  }

  // Returns the key of `to` whose components have the same values as in `key`, a key of `from`.
  static Key project(const KeySet& from, const Key& key, const KeySet& to) {
    Key result;
    for (const KeyComponent& component : to.components()) {
      result.push_back(key[static_cast<std::size_t>(from.find(component.name))]);
    }
    return result;
  }

  const Values* at(const Relation& relation, const Key& key) const {
    const std::int64_t position = relation->type.keys.position(key);
    return position < 0 ? nullptr : &values_.at(relation.get())[static_cast<std::size_t>(position)];
  }

  Values one(const Expression& e, const Key& key) const {
    const RelationType& type = e.type;
    const Relation* a = e.operands.empty() ? nullptr : e.operands.data();
    switch (e.op) {
      case Operator::kInput:
        break;
      case Operator::kFill:
      case Operator::kJoin:
      case Operator::kTransform: {
        std::vector<Block> operands;
        for (const Relation& operand : e.operands) {
          const Key theirs = project(type.keys, key, operand->type.keys);
          operands.push_back(block(operand->type, theirs, at(operand, theirs)));
        }
        return run(e.kernel, operands, block(type, key, nullptr));
      }
      case Operator::kAggregate: {
        Values total;
        for (std::size_t i = 0; i < (*a)->type.keys.size(); ++i) {
          const Key theirs = (*a)->type.keys.key(i);
          if (project((*a)->type.keys, theirs, type.keys) != key) continue;
          const Values& part = *at(*a, theirs);
          if (total.empty()) {
            total = part;
            continue;
          }
          for (std::size_t j = 0; j < total.size(); ++j) {
            total[j] =
                e.combine == Combine::kAdd ? total[j] + part[j] : std::max(total[j], part[j]);
          }
        }
        return total;
      }
      case Operator::kRekey:  // the operand's components come first, under other names
        return *at(*a, Key(key.begin(),
                           key.begin() + static_cast<std::ptrdiff_t>((*a)->type.keys.rank())));
      case Operator::kFilter:
        return *at(*a, key);
      case Operator::kExtend: {
        const Values* there = at(*a, key);
        return there ? *there : Values(count(type.block_shape(key)), 0.0);
      }
      case Operator::kTile: {
        const Key theirs(key.begin(), key.end() - 1);
        const Block from = block((*a)->type, theirs, at(*a, theirs));
        const Block to = block(type, key, nullptr);
        Values result(count(to.shape));
        const auto d = static_cast<std::size_t>(to.find(e.dimension));
        copy_part(to, result, from, d, to.begin[d]);
        return result;
      }
      case Operator::kConcat: {
        const Block to = block(type, key, nullptr);
        Values result(count(to.shape));
        const KeySet& keys = (*a)->type.keys;
        const auto split = static_cast<std::ptrdiff_t>(keys.find(e.dimension));
        const auto d = static_cast<std::size_t>(to.find(e.dimension));
        for (std::int64_t part = 0; part < (*a)->type.dimensions[d].parts; ++part) {
          Key theirs = key;
          theirs.insert(theirs.begin() + split, part);
          const Block from = block((*a)->type, theirs, at(*a, theirs));
          Odometer at_point;
          at_point.add(from);
          do {
            std::int64_t place = 0;
            for (std::size_t n = 0; n < to.names.size(); ++n) {
              place = place * to.shape[n] + at_point[to.names[n]] + (n == d ? from.begin[d] : 0);
            }
            result[static_cast<std::size_t>(place)] = (*from.values)[at_point.index(from)];
          } while (at_point.next());
        }
        return result;
      }
    }
    DOPPLER_CHECK(false);
    return {};
  }

  // Fills the elements of `to` from the larger block `from`, in whose dimension d it begins at
  // `offset`.
  static void copy_part(const Block& to, Values& values, const Block& from, std::size_t d,
                        std::int64_t offset) {
    Odometer at_point;
    at_point.add(to);
    do {
      std::int64_t place = 0;
      for (std::size_t n = 0; n < from.names.size(); ++n) {
        place = place * from.shape[n] + at_point[from.names[n]] + (n == d ? offset : 0);
      }
      values[at_point.index(to)] = (*from.values)[static_cast<std::size_t>(place)];
    } while (at_point.next());
  }

  const std::map<std::string, Blocks>& inputs_;
  std::unordered_map<const Expression*, Blocks> values_;
};

}  // namespace

std::vector<Blocks> interpret(std::span<const Relation> roots,
                              const std::map<std::string, Blocks>& inputs) {
  Interpretation interpretation(inputs);
  for (const Relation& relation : in_order(roots)) interpretation.evaluate(*relation);
  std::vector<Blocks> result;
  for (const Relation& root : roots) result.push_back(interpretation.of(root));
  return result;
}

}  // namespace doppler::tra
