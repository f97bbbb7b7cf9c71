#include "doppler/exec/probe/probe_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/kernel/elementwise.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/kernel/registry.h"

namespace doppler::exec {
namespace {

using kernel::Attributes;
using kernel::Shape;

constexpr std::int64_t kColumns = 256;
constexpr std::int64_t kTableRows = 4096;  // of embeddings
constexpr double kProductBytes = 1e6;
constexpr std::int64_t kWideSide = 1024;  // of the matrix that multiplies one with few rows

// A call without its outputs.
struct Form {
  Attributes attributes;
  std::vector<Shape> inputs;
};

ProbeCall make_call(const std::string& op, const Form& form) {
  const kernel::Registry kernels = kernel::default_kernels();
  const kernel::Kernel& rules = kernels.at(op);
  ProbeCall probe{.call = {.name = op,
                           .attributes = form.attributes,
                           .inputs = form.inputs,
                           .outputs = rules.infer(form.attributes, form.inputs)}};
  probe.flops = rules.flops(probe.call);
  probe.bytes = rules.bytes_read(probe.call) + rules.bytes_written(probe.call);
  return probe;
}

// Returns the forms of an op on matrices of so many rows; none if it is not known here.
std::vector<Form> forms_of(const std::string& op, std::int64_t rows) {
  const Shape matrix = {rows, kColumns}, column = {rows}, row = {kColumns};
  const auto pair = [](std::int64_t a, std::int64_t b) { return fmt::format("{},{}", a, b); };
  if (kernel::find_binary_op(op)) {
    return {{{}, {matrix, matrix}},
            {{{"spec", "ab,a->ab"}}, {matrix, column}},
            {{{"spec", "ab,b->ab"}}, {matrix, row}}};
  }
  if (kernel::find_fold_op(op)) return {{{}, {matrix, matrix}}, {{}, {matrix, matrix, matrix}}};
  if (const auto unary = kernel::find_unary(op)) {
    return {{{}, std::vector<Shape>(unary->derivative == 0 ? 1 : 2, matrix)}};
  }
  if (op == "scale") return {{{{"factor", "0.5"}}, {matrix}}};
  if (op == "shift") return {{{{"amount", "0.5"}}, {matrix}}};
  if (op == "reduce") {
    return {{{{"op", "sum"}, {"spec", "ab->a"}}, {matrix}},
            {{{"op", "max"}, {"spec", "ab->a"}}, {matrix}}};
  }
  if (op == "permute") {
    return {{{{"spec", "ab->ba"}}, {matrix}}, {{{"spec", "abc->bac"}}, {{rows, 4, kColumns / 4}}}};
  }
  if (op == "broadcast") {
    return {{{{"spec", "a->ab"}, {"sizes", fmt::format("b={}", kColumns)}}, {column}},
            {{{"spec", "b->ab"}, {"sizes", fmt::format("a={}", rows)}}, {row}}};
  }
  if (op == "fill") return {{{{"shape", pair(rows, kColumns)}, {"value", "0"}}, {}}};
  if (op == "slice") return {{{{"begin", "0,0"}, {"end", pair(rows, kColumns / 2)}}, {matrix}}};
  if (op == "pad") return {{{{"before", "0,0"}, {"after", pair(0, kColumns)}}, {matrix}}};
  if (op == "concat") return {{{{"dim", "1"}}, {matrix, matrix}}};
  if (op == "rotary") return {{{{"position", "1"}}, {{4, rows, kColumns / 4}}}};
  if (op == "masked_fill") {
    return {{{{"rows", "1"}, {"columns", "2"}, {"value", "-1e9"}},
             {{std::max<std::int64_t>(1, rows / kColumns), std::min(rows, kColumns), kColumns}}}};
  }
  if (op == "gather") return {{{}, {{kTableRows, kColumns}, column}}};
  if (op == "scatter_add") return {{{{"rows", fmt::format("{}", rows)}}, {column, matrix}}};
  if (op == "sgd_update") return {{{{"rate", "0.1"}}, {matrix, matrix}}};
  if (op == "adam_update") {
    return {{{{"rate", "0.1"}, {"beta1", "0.9"}, {"beta2", "0.99"}, {"epsilon", "1e-8"}},
             {matrix, matrix, matrix, matrix, {}}}};
  }
  return {};
}

// Sets the range of values in which the function is defined, and which input is an index.
void set_values(ProbeCall& probe) {
  const std::string& op = probe.call.name;
  probe.once = op == "sgd_update" || op == "adam_update";
  const auto is = [&](const char* prefix) { return op.starts_with(prefix); };
  if (is("log") || is("sqrt") || is("rsqrt") || is("reciprocal") || is("div") || is("adam")) {
    probe.low = 0.5;
    probe.high = 1.5;
  } else if (op == "gather") {
    probe.index_input = 1;
    probe.index_rows = kTableRows;
    probe.once = true;
  } else if (op == "scatter_add") {
    probe.index_input = 0;
    probe.index_rows = probe.call.outputs[0][0];
  }
}

// Rounds to a number of rows that models have: for others BLAS has a remainder that takes long.
std::int64_t round_rows(double rows) {
  const double step = rows >= 24.0 ? 16.0 : rows >= 6.0 ? 8.0 : 1.0;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(step) * std::llround(rows / step));
}

}  // namespace

double ProbeCall::input_bytes() const {
  double sum = 0.0;
  for (const Shape& shape : call.inputs) {
    sum += 4.0 * static_cast<double>(kernel::element_count(shape));
  }
  return sum;
}

std::vector<std::string> probed_ops() {
  std::vector<std::string> ops = kernel::default_kernels().names();
  std::erase_if(ops, [](const std::string& op) {
    const auto unary = kernel::find_unary(op);
    return op == "contract" || (unary && unary->derivative == 2);
  });
  return ops;
}

std::vector<ProbeCall> probe_calls(const std::string& op, double bytes) {
  constexpr std::int64_t kSomeRows = 1024;
  std::vector<ProbeCall> calls;
  const std::vector<Form> some = forms_of(op, kSomeRows);
  if (some.empty()) throw InternalError("no call of kernel " + op + " to measure");
  for (std::size_t f = 0; f < some.size(); ++f) {
    // Bytes grow with the rows, or nearly.
    const double scale = bytes / make_call(op, some[f]).bytes;
    const auto rows = std::max<std::int64_t>(1, std::llround(scale * kSomeRows));
    calls.push_back(make_call(op, forms_of(op, rows)[f]));
    set_values(calls.back());
  }
  return calls;
}

std::vector<ProbeCall> probe_products(std::int64_t side) {
  std::vector<Form> forms;
  const auto rows = static_cast<std::int64_t>(kProductBytes / (4.0 * kColumns));
  if (side == 1) {
    const Shape half = {rows / 2, kColumns};
    forms = {{{{"spec", "ab,ab->a"}}, {half, half}}, {{{"spec", "ab,ab->b"}}, {half, half}}};
  } else if (side == 2) {
    forms = {{{{"spec", "ab,b->a"}}, {{rows, kColumns}, {kColumns}}},
             {{{"spec", "ab,a->b"}}, {{rows, kColumns}, {rows}}}};
  } else {
    const double bytes = 12.0 * static_cast<double>(side * side);
    const auto batch = std::max<std::int64_t>(1, std::llround(kProductBytes / bytes));
    const Shape squares = {batch, side, side};
    forms = {{{{"spec", "zab,zbc->zac"}}, {squares, squares}},
             {{{"spec", "zab,zcb->zac"}}, {squares, squares}}};
    // Flops per byte of a product of m x k by k x n are 1 / (2/m + 2/n + 2/k): as many as those of
    // the squares where 1/m = 3/side - 2/kWideSide.
    if (side < kWideSide / 2) {
      const std::int64_t few =
          round_rows(1.0 / (3.0 / static_cast<double>(side) - 2.0 / kWideSide));
      const Shape wide = {kWideSide, kWideSide};
      forms.push_back({{{"spec", "ab,bc->ac"}}, {{few, kWideSide}, wide}});
      forms.push_back({{{"spec", "ab,cb->ac"}}, {{few, kWideSide}, wide}});
    }
  }
  std::vector<ProbeCall> calls;
  for (const Form& form : forms) calls.push_back(make_call("contract", form));
  return calls;
}

ProbeCall probe_nothing() {
  return make_call("scale", {{{"factor", "1"}}, {{1}}});
}

ProbeCall probe_sink(double bytes) {
  return make_call("slice", {{{"begin", "0"}, {"end", "1"}}, {{std::llround(bytes / 4.0)}}});
}

}  // namespace doppler::exec
