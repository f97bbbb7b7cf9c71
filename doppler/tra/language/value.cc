#include "doppler/tra/language/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "doppler/tra/operations.h"

namespace doppler::tra {
namespace {

double finite(double value, const std::string& what) {
  if (!std::isfinite(value)) throw InputError(fmt::format("{} is not a finite number", what));
  return value;
}

double number_arithmetic(char op, double a, double b) {
  const double result = op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
  return finite(result, fmt::format("{} {} {}", a, op, b));
}

double number_function(const std::string& name, double x) {
  const auto value = [&]() -> double {
    if (name == "exp") return std::exp(x);
    if (name == "log") return std::log(x);
    if (name == "sqrt") return std::sqrt(x);
    if (name == "rsqrt") return 1 / std::sqrt(x);
    if (name == "reciprocal") return 1 / x;
    if (name == "relu") return std::max(x, 0.0);
    if (name == "tanh") return std::tanh(x);
    if (name == "gelu") return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
    if (name == "sigmoid") return 1 / (1 + std::exp(-x));
    if (name == "silu") return x / (1 + std::exp(-x));
    return std::numeric_limits<double>::quiet_NaN();
  };
  return finite(value(), fmt::format("{}({})", name, x));
}

Relation with_number(char op, const Relation& a, double b) {
  if (op == '+') return shift(a, b);
  if (op == '-') return shift(a, -b);
  if (op == '*') return scale(a, b);
  return scale(a, finite(1 / b, fmt::format("1 / {}", b)));
}

Relation number_with(char op, double a, const Relation& b) {
  if (op == '+') return shift(b, a);
  if (op == '-') return shift(scale(b, -1.0), a);
  if (op == '*') return scale(b, a);
  return scale(apply("reciprocal", b), a);
}

// The arguments of one call. Accessors return an argument as one kind of value and throw
// OperandError if it is of another kind.
class Arguments {
 public:
  Arguments(const std::string& function, std::span<const ProgramValue> values,
            const std::optional<std::vector<std::string>>& result)
      : function_(function), values_(values), result_(result) {}

  void require_count(std::size_t least, std::size_t most, const char* form) const {
    const bool has_result = std::string_view(form).find("->") != std::string_view::npos;
    if (values_.size() < least || values_.size() > most || has_result != result_.has_value()) {
      throw InputError(fmt::format("expected {}{}", function_, form));
    }
  }

  std::size_t count() const { return values_.size(); }

  const Relation& relation(std::size_t i) const {
    if (const auto* found = std::get_if<Relation>(&values_[i])) return *found;
    fail(i, "a value");
  }
  double number(std::size_t i) const {
    if (const auto found = as_number(values_[i])) return *found;
    fail(i, "a number");
  }
  const std::string& dimension(std::size_t i) const {
    if (const auto* found = std::get_if<Dimension>(&values_[i])) return found->name;
    fail(i, "a dimension");
  }
  // Returns the names of all arguments from the i-th on, which must be dimensions.
  std::vector<std::string> dimensions(std::size_t i) const {
    std::vector<std::string> found;
    for (; i < values_.size(); ++i) found.push_back(dimension(i));
    return found;
  }
  std::vector<std::string> components(std::size_t i) const {
    std::vector<std::string> found;
    for (; i < values_.size(); ++i) {
      const auto* component = std::get_if<KeyComponent>(&values_[i]);
      if (!component) fail(i, "a key component");
      found.push_back(component->name);
    }
    return found;
  }

 private:
  [[noreturn]] void fail(std::size_t i, const char* wanted) const {
    throw OperandError(i, fmt::format("argument {} of {} must be {}, not {}", i + 1, function_,
                                      wanted, kind_of(values_[i])));
  }

  const std::string& function_;
  std::span<const ProgramValue> values_;
  const std::optional<std::vector<std::string>>& result_;
};

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

ProgramValue unary_function(const std::string& name, const Arguments& arguments,
                            const ProgramValue& value) {
  arguments.require_count(1, 1, "(value)");
  if (const auto x = as_number(value)) return number_function(name, *x);
  return apply(name, arguments.relation(0));
}

ProgramValue reduction_call(const std::string& name, const Arguments& arguments) {
  arguments.require_count(1, kAny, "(value, dimensions...)");
  const Relation& a = arguments.relation(0);
  const std::vector<std::string> over =
      arguments.count() > 1 ? arguments.dimensions(1) : names(a->type.dimensions);
  return name == "sum" ? sum(a, over) : name == "mean" ? mean(a, over) : max(a, over);
}

ProgramValue maximum_call(const Arguments& arguments, std::span<const ProgramValue> values) {
  arguments.require_count(2, 2, "(value, value)");
  const auto x = as_number(values[0]), y = as_number(values[1]);
  if (x && y) return std::max(*x, *y);
  const auto operand = [&](std::size_t i, std::optional<double> number) {
    return number ? fill({}, *number) : arguments.relation(i);
  };
  return maximum(operand(0, x), operand(1, y));
}

// Returns the product of two values, summed over the listed dimensions.
ProgramValue dot_call(const Arguments& arguments) {
  arguments.require_count(3, kAny, "(value, value, dimensions...)");
  const Relation &a = arguments.relation(0), &b = arguments.relation(1);
  const std::vector<std::string> over = arguments.dimensions(2);
  for (std::size_t i = 0; i < over.size(); ++i) {
    if (find(a->type.dimensions, over[i]) < 0 && find(b->type.dimensions, over[i]) < 0) {
      throw OperandError(i + 2, fmt::format("dot of {} and {}: there is no dimension '{}'",
                                            a->type.describe(), b->type.describe(), over[i]));
    }
  }
  std::vector<std::string> kept;
  for (const Relation* operand : {&a, &b}) {
    for (const Dimension& dimension : (*operand)->type.dimensions) {
      if (std::find(over.begin(), over.end(), dimension.name) == over.end() &&
          std::find(kept.begin(), kept.end(), dimension.name) == kept.end()) {
        kept.push_back(dimension.name);
      }
    }
  }
  return contract(a, b, kept);
}

ProgramValue rotary_call(const Arguments& arguments) {
  arguments.require_count(3, 4, "(value, position, rotated) or (value, position, rotated, theta)");
  constexpr double kUsualTheta = 10000.0;  // Su et al., RoFormer, 2021
  const double theta = arguments.count() > 3 ? arguments.number(3) : kUsualTheta;
  if (theta <= 0) throw OperandError(3, "the base of the angles must be positive");
  if (arguments.dimension(1) == arguments.dimension(2)) {
    throw OperandError(2, "rotary needs two different dimensions");
  }
  return rotary(arguments.relation(0), arguments.dimension(1), arguments.dimension(2), theta);
}

ProgramValue causal_call(const Arguments& arguments) {
  arguments.require_count(4, 4, "(value, rows, columns, number)");
  if (arguments.dimension(1) == arguments.dimension(2)) {
    throw OperandError(2, "causal needs two different dimensions");
  }
  return causal_fill(arguments.relation(0), arguments.dimension(1), arguments.dimension(2),
                     arguments.number(3));
}

ProgramValue transpose_call(const Arguments& arguments,
                            const std::optional<std::vector<std::string>>& result) {
  arguments.require_count(1, 1, "(value -> [dimensions])");
  const Relation& a = arguments.relation(0);
  Dimensions order;
  for (const std::string& name : *result) {
    const int d = find(a->type.dimensions, name);
    if (d >= 0) order.push_back(a->type.dimensions[static_cast<std::size_t>(d)]);
  }
  if (order.size() != a->type.dimensions.size() || order.size() != result->size()) {
    throw InputError(fmt::format("transpose of {}: the result must have exactly its dimensions",
                                 a->type.describe()));
  }
  return conform(a, order);
}

}  // namespace

std::string kind_of(const ProgramValue& value) {
  constexpr std::array<const char*, 4> kKinds = {"a number", "a dimension", "a key component",
                                                 "a value"};
  return kKinds[value.index()];
}

std::optional<double> as_number(const ProgramValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* dimension = std::get_if<Dimension>(&value)) {
    return static_cast<double>(dimension->size);
  }
  return std::nullopt;
}

ProgramValue arithmetic(char op, const ProgramValue& a, const ProgramValue& b) {
  for (const auto& [i, value] : {std::pair(0, &a), std::pair(1, &b)}) {
    if (std::holds_alternative<KeyComponent>(*value)) {
      throw OperandError(static_cast<std::size_t>(i), "a key component cannot be computed with");
    }
  }
  const auto x = as_number(a), y = as_number(b);
  if (x && y) return number_arithmetic(op, *x, *y);
  if (x) return number_with(op, *x, std::get<Relation>(b));
  if (y) return with_number(op, std::get<Relation>(a), *y);
  const auto operation = op == '+' ? add : op == '-' ? subtract : op == '*' ? multiply : divide;
  return operation(std::get<Relation>(a), std::get<Relation>(b));
}

ProgramValue negative(const ProgramValue& a) {
  return arithmetic('*', a, -1.0);
}

bool is_built_in(const std::string& function) {
  static constexpr std::array<std::string_view, 11> kFunctions = {
      "sum",    "mean",   "max",    "maximum",   "einsum",   "dot",
      "rotary", "causal", "gather", "transpose", "aggregate"};
  return is_function(function) ||
         std::find(kFunctions.begin(), kFunctions.end(), function) != kFunctions.end();
}

ProgramValue call_built_in(const std::string& function, std::span<const ProgramValue> values,
                           const std::optional<std::vector<std::string>>& result) {
  const Arguments arguments(function, values, result);
  if (is_function(function)) {
    return unary_function(function, arguments, values.empty() ? ProgramValue(0.0) : values[0]);
  }
  if (function == "maximum") return maximum_call(arguments, values);
  if (function == "einsum") {
    arguments.require_count(2, 2, "(value, value -> [dimensions])");
    return contract(arguments.relation(0), arguments.relation(1), *result);
  }
  if (function == "dot") return dot_call(arguments);
  if (function == "rotary") return rotary_call(arguments);
  if (function == "causal") return causal_call(arguments);
  if (function == "gather") {
    arguments.require_count(2, 2, "(table, index)");
    return gather(arguments.relation(0), arguments.relation(1));
  }
  if (function == "transpose") return transpose_call(arguments, result);
  if (function == "aggregate") {
    arguments.require_count(2, kAny, "(value, key components...)");
    return aggregate(arguments.relation(0), arguments.components(1), Combine::kAdd);
  }
  return reduction_call(function, arguments);
}

}  // namespace doppler::tra
