// Tensor operations as people write them in programs, each of one or two operators of the algebra.
// Dimensions are matched by name. All functions throw InputError for ill-formed uses, and are safe
// to call from several threads.
#pragma once

#include <string>
#include <vector>

#include "doppler/tra/expression.h"

namespace doppler::tra {

// Returns the einsum of two operands: their product, summed over every dimension that is not in
// `result`.
Relation contract(const Relation& a, const Relation& b, const std::vector<std::string>& result);

// Combine two operands elementwise, broadcasting along dimensions that one of them lacks.
Relation add(const Relation& a, const Relation& b);
Relation subtract(const Relation& a, const Relation& b);
Relation multiply(const Relation& a, const Relation& b);
Relation divide(const Relation& a, const Relation& b);
Relation maximum(const Relation& a, const Relation& b);

// Returns whether apply() has a function of this name: exp, log, sqrt, rsqrt, relu, silu, gelu,
// sigmoid, tanh or reciprocal.
bool is_function(const std::string& name);
Relation apply(const std::string& function, const Relation& a);
Relation scale(const Relation& a, double factor);
Relation shift(const Relation& a, double amount);

// Reduce the dimensions that `over` names.
Relation sum(const Relation& a, const std::vector<std::string>& over);
Relation mean(const Relation& a, const std::vector<std::string>& over);
Relation max(const Relation& a, const std::vector<std::string>& over);

// Returns the relation with exactly these dimensions, in this order: summed over those that are not
// listed, repeated along those that it lacks.
Relation conform(const Relation& a, const Dimensions& dimensions);

Relation rename(const Relation& a, const Renaming& renaming);
// Applies rotary position embedding to the dimension `rotated`, which becomes the last one.
Relation rotary(const Relation& a, const std::string& position, const std::string& rotated,
                double theta = 10000.0, bool inverse = false);
// Replaces elements by `value` where the position in `columns` is past that in `rows`.
Relation causal_fill(const Relation& a, const std::string& rows, const std::string& columns,
                     double value);
// Returns rows of a table [rows, x] by an index of any dimensions.
Relation gather(const Relation& table, const Relation& index);
// Returns the transpose of gather: values [index dimensions…, x] added up in [rows, x].
Relation scatter_add(const Relation& index, const Relation& values, const Dimension& rows);

// Combines the partial results of a kernel that dropped split dimensions of its operands, and drops
// the key components of these.
Relation combine_parts(const Relation& result);

}  // namespace doppler::tra
