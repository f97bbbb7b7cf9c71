// The values that an expression of a program can have, arithmetic on them, and the built-in
// functions. Pure functions, so safe to call from several threads.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "doppler/base/error.h"
#include "doppler/tra/expression.h"

namespace doppler::tra {

// A number, a dimension (which in arithmetic is its size), a key component or a tensor relation.
using ProgramValue = std::variant<double, Dimension, KeyComponent, Relation>;

// Returns "a number", "a dimension", …
std::string kind_of(const ProgramValue& value);

// Returns the number that the value is or stands for, if any.
std::optional<double> as_number(const ProgramValue& value);

// An error in one operand, whose index counts from 0.
class OperandError : public InputError {
 public:
  OperandError(std::size_t operand, const std::string& message)
      : InputError(message), operand_(operand) {}
  std::size_t operand() const { return operand_; }

 private:
  std::size_t operand_;
};

// Returns a op b, where `op` is one of + - * /. Relations are combined elementwise by the names of
// dimensions; with a number, a relation is scaled or shifted. Throws InputError if the values
// cannot be combined.
ProgramValue arithmetic(char op, const ProgramValue& a, const ProgramValue& b);
ProgramValue negative(const ProgramValue& a);

bool is_built_in(const std::string& function);
// Returns the value of a call. `result` has the names after ->, if there are any. Throws
// InputError, or OperandError if one argument is at fault, if the function cannot be applied.
// REQUIRES: is_built_in(function).
ProgramValue call_built_in(const std::string& function, std::span<const ProgramValue> arguments,
                           const std::optional<std::vector<std::string>>& result);

}  // namespace doppler::tra
