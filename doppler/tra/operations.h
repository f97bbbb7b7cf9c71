// Tensor operations in terms of the algebra, for programs: what people write, one or two operators
// each. Dimensions are matched by name. Ill-formed uses throw InputError.
#pragma once

#include <string>
#include <vector>

#include "doppler/tra/expression.h"

namespace doppler::tra {

// Einsum of two operands: product, summed over every dimension that is not in `result`.
Relation contract(const Relation& a, const Relation& b, const std::vector<std::string>& result);

// Elementwise, broadcasting along dimensions that one operand lacks.
Relation add(const Relation& a, const Relation& b);
Relation subtract(const Relation& a, const Relation& b);
Relation multiply(const Relation& a, const Relation& b);
Relation divide(const Relation& a, const Relation& b);
Relation maximum(const Relation& a, const Relation& b);

// exp, log, sqrt, rsqrt, relu, silu, gelu, sigmoid, tanh, reciprocal.
bool is_function(const std::string& name);
Relation apply(const std::string& function, const Relation& a);
Relation scale(const Relation& a, double factor);
Relation shift(const Relation& a, double amount);

// Over these dimensions.
Relation sum(const Relation& a, const std::vector<std::string>& over);
Relation mean(const Relation& a, const std::vector<std::string>& over);
Relation max(const Relation& a, const std::vector<std::string>& over);

// The same with exactly these dimensions, in this order: sums over those not listed, repeats along
// those it lacks.
Relation conform(const Relation& a, const Dimensions& dimensions);

Relation rename(const Relation& a, const Renaming& renaming);
// `rotated` becomes the last dimension.
Relation rotary(const Relation& a, const std::string& position, const std::string& rotated,
                double theta = 10000.0, bool inverse = false);
// `value` where the position in `columns` is past that in `rows`.
Relation causal_fill(const Relation& a, const std::string& rows, const std::string& columns,
                     double value);
// Rows of a table [rows, x] by an index of any dimensions.
Relation gather(const Relation& table, const Relation& index);
// The transpose: values [index dimensions..., x] added up into [rows, x].
Relation scatter_add(const Relation& index, const Relation& values, const Dimension& rows);

// Adds up (or takes the maximum of) what a kernel left apart where it dropped split dimensions of
// its operands: the key components of these go.
Relation combine_parts(const Relation& result);

}  // namespace doppler::tra
