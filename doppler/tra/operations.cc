#include "doppler/tra/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "doppler/base/error.h"

namespace doppler::tra {
namespace {

using Form = BlockKernel::Form;

Relation elementwise(const std::string& name, const Relation& a, const Relation& b,
                     double number = 0.0) {
  return join(a, b, binary(name, a->type.dimensions, b->type.dimensions, number));
}

Relation reduce(const Relation& a, const std::vector<std::string>& over, Combine combine) {
  std::vector<std::string> result;
  for (const std::string& name : over) {
    if (find(a->type.dimensions, name) < 0) {
      throw InputError(fmt::format("{} of {}: there is no dimension '{}'",
                                   combine == Combine::kAdd ? "sum" : "max", a->type.describe(),
                                   name));
    }
  }
  for (const Dimension& dimension : a->type.dimensions) {
    if (std::find(over.begin(), over.end(), dimension.name) == over.end()) {
      result.push_back(dimension.name);
    }
  }
  if (result.size() == a->type.dimensions.size()) return a;
  return combine_parts(transform(a, reduction(combine, std::move(result))));
}

}  // namespace

Relation contract(const Relation& a, const Relation& b, const std::vector<std::string>& result) {
  return combine_parts(join(a, b, contraction(result)));
}

Relation add(const Relation& a, const Relation& b) {
  return elementwise("add", a, b);
}
Relation subtract(const Relation& a, const Relation& b) {
  return elementwise("sub", a, b);
}
Relation multiply(const Relation& a, const Relation& b) {
  return elementwise("mul", a, b);
}
Relation divide(const Relation& a, const Relation& b) {
  return elementwise("div", a, b);
}
Relation maximum(const Relation& a, const Relation& b) {
  return elementwise("max", a, b);
}

bool is_function(const std::string& name) {
  static constexpr std::array<std::string_view, 10> kFunctions = {
      "exp", "log", "sqrt", "rsqrt", "relu", "silu", "gelu", "sigmoid", "tanh", "reciprocal"};
  return std::find(kFunctions.begin(), kFunctions.end(), name) != kFunctions.end();
}

Relation apply(const std::string& function, const Relation& a) {
  if (!is_function(function)) throw InputError(fmt::format("unknown function '{}'", function));
  return transform(a, unary(function, a->type.dimensions));
}

Relation scale(const Relation& a, double factor) {
  return factor == 1.0 ? a : transform(a, unary("scale", a->type.dimensions, factor));
}

Relation shift(const Relation& a, double amount) {
  return amount == 0.0 ? a : transform(a, unary("shift", a->type.dimensions, amount));
}

Relation sum(const Relation& a, const std::vector<std::string>& over) {
  return reduce(a, over, Combine::kAdd);
}

Relation mean(const Relation& a, const std::vector<std::string>& over) {
  const Relation total = sum(a, over);
  return scale(total, total->type.elements() / a->type.elements());
}

Relation max(const Relation& a, const std::vector<std::string>& over) {
  return reduce(a, over, Combine::kMax);
}

Relation conform(const Relation& a, const Dimensions& dimensions) {
  std::vector<std::string> extra;
  for (const Dimension& dimension : a->type.dimensions) {
    if (find(dimensions, dimension.name) < 0) extra.push_back(dimension.name);
  }
  Relation result = sum(a, extra);
  if (names(result->type.dimensions) == names(dimensions)) return result;
  BlockKernel kernel{.form = Form::kPermute, .result = names(dimensions)};
  std::vector<KeyComponent> added;
  for (const Dimension& dimension : dimensions) {
    if (find(result->type.dimensions, dimension.name) >= 0) continue;
    kernel.form = Form::kBroadcast;
    kernel.fresh.push_back(dimension);
    if (dimension.parts > 1 && result->type.keys.find(dimension.name) < 0) {
      added.push_back({dimension.name, dimension.parts});
    }
  }
  if (!added.empty()) result = rekey(result, {}, added);
  return transform(result, std::move(kernel));
}

Relation rename(const Relation& a, const Renaming& renaming) {
  return renaming.empty() ? a : rekey(a, renaming);
}

Relation rotary(const Relation& a, const std::string& position, const std::string& rotated,
                double theta, bool inverse) {
  Dimensions order = a->type.dimensions;
  const int d = find(order, rotated);
  if (d < 0) {
    throw InputError(
        fmt::format("rotary of {}: there is no dimension '{}'", a->type.describe(), rotated));
  }
  std::rotate(order.begin() + d, order.begin() + d + 1, order.end());
  return transform(conform(a, order), {.form = Form::kRotary,
                                       .result = names(order),
                                       .first = position,
                                       .second = rotated,
                                       .number = theta,
                                       .inverse = inverse});
}

Relation causal_fill(const Relation& a, const std::string& rows, const std::string& columns,
                     double value) {
  return transform(a, {.form = Form::kCausalFill,
                       .result = names(a->type.dimensions),
                       .first = rows,
                       .second = columns,
                       .number = value});
}

Relation gather(const Relation& table, const Relation& index) {
  if (table->type.dimensions.size() != 2) {
    throw InputError(
        fmt::format("gather from {}: the table must have two dimensions", table->type.describe()));
  }
  std::vector<std::string> result = names(index->type.dimensions);
  result.push_back(table->type.dimensions[1].name);
  return combine_parts(join(table, index,
                            {.form = Form::kGather,
                             .result = std::move(result),
                             .first = table->type.dimensions[0].name}));
}

Relation scatter_add(const Relation& index, const Relation& values, const Dimension& rows) {
  if (values->type.dimensions.empty()) {
    throw InputError(
        "scatter_add of a scalar: values must have the index's dimensions and one more");
  }
  Relation placed = index;
  if (rows.parts > 1) placed = rekey(index, {}, {{rows.name, rows.parts}});
  return combine_parts(join(placed, values,
                            {.form = Form::kScatterAdd,
                             .result = {rows.name, values->type.dimensions.back().name},
                             .fresh = {rows},
                             .first = rows.name}));
}

Relation combine_parts(const Relation& result) {
  std::vector<std::string> dropped;
  for (const Relation& operand : result->operands) {
    for (const Dimension& dimension : operand->type.dimensions) {
      const bool split = dimension.parts > 1 && find(result->type.dimensions, dimension.name) < 0;
      if (split && std::find(dropped.begin(), dropped.end(), dimension.name) == dropped.end()) {
        dropped.push_back(dimension.name);
      }
    }
  }
  if (dropped.empty()) return result;
  const auto combine = combines_parts(result->kernel);
  DOPPLER_CHECK(combine.has_value());
  return aggregate(result, dropped, *combine);
}

}  // namespace doppler::tra
