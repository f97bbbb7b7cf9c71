// What an expression of a program can stand for, and arithmetic on it.
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

// A number, a dimension (in arithmetic: its size), a component of keys, a tensor relation.
using ProgramValue = std::variant<double, Dimension, KeyComponent, Relation>;

// "a number", "a dimension", ...
std::string kind_of(const ProgramValue& value);

// The number that it is or stands for, if any.
std::optional<double> as_number(const ProgramValue& value);

// The complaint is about one operand; counts from 0.
class OperandError : public InputError {
 public:
  OperandError(std::size_t operand, const std::string& message)
      : InputError(message), operand_(operand) {}
  std::size_t operand() const { return operand_; }

 private:
  std::size_t operand_;
};

// `op` is one of + - * /. Between relations elementwise by the names of dimensions; a number is
// scaled or shifted by. Throws InputError where there is no result.
ProgramValue arithmetic(char op, const ProgramValue& a, const ProgramValue& b);
ProgramValue negative(const ProgramValue& a);

bool is_built_in(const std::string& function);
// `result` is what followed ->, if anything did. Throws InputError, OperandError where the function
// cannot be applied. REQUIRES: is_built_in(function).
ProgramValue call_built_in(const std::string& function, std::span<const ProgramValue> arguments,
                           const std::optional<std::vector<std::string>>& result);

}  // namespace doppler::tra
