#include "doppler/formats/hlo/hlo_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "doppler/base/text.h"
#include "doppler/formats/hlo/hlo_module.h"

namespace doppler::formats {
namespace {

constexpr std::string_view kElementwise[] = {"abs",
                                             "add",
                                             "and",
                                             "atan2",
                                             "cbrt",
                                             "ceil",
                                             "clamp",
                                             "clz",
                                             "compare",
                                             "complex",
                                             "convert",
                                             "cosine",
                                             "count-leading-zeros",
                                             "divide",
                                             "erf",
                                             "exponential",
                                             "exponential-minus-one",
                                             "floor",
                                             "imag",
                                             "is-finite",
                                             "log",
                                             "log-plus-one",
                                             "logistic",
                                             "maximum",
                                             "minimum",
                                             "multiply",
                                             "negate",
                                             "not",
                                             "or",
                                             "popcnt",
                                             "power",
                                             "real",
                                             "reduce-precision",
                                             "remainder",
                                             "round-nearest-afz",
                                             "round-nearest-even",
                                             "rsqrt",
                                             "select",
                                             "shift-left",
                                             "shift-right-arithmetic",
                                             "shift-right-logical",
                                             "sign",
                                             "sine",
                                             "sqrt",
                                             "stochastic-convert",
                                             "subtract",
                                             "tan",
                                             "tanh",
                                             "xor",
                                             "rng",
                                             "rng-bit-generator",
                                             "rng-get-and-update-state",
                                             "acos",
                                             "acosh",
                                             "asin",
                                             "asinh",
                                             "atanh",
                                             "cosh",
                                             "sinh",
                                             "all-reduce",
                                             "reduce-scatter"};

// Opcodes that move data and compute nothing.
constexpr std::string_view kMoves[] = {"copy",
                                       "transpose",
                                       "concatenate",
                                       "pad",
                                       "reverse",
                                       "slice",
                                       "dynamic-slice",
                                       "dynamic-update-slice",
                                       "gather",
                                       "all-gather",
                                       "all-to-all",
                                       "collective-permute",
                                       "collective-broadcast",
                                       "ragged-all-to-all",
                                       "infeed",
                                       "outfeed",
                                       "send",
                                       "recv"};

// Opcodes that read only as many bytes as their result has, however large their operand is.
constexpr std::string_view kLookups[] = {"slice", "dynamic-slice", "gather"};

const HloShape& operand_shape(const HloComputation& computation, const HloInstruction& instruction,
                              std::size_t i) {
  static const HloShape kNone;
  if (i >= instruction.operands.size()) return kNone;
  return computation.instructions[instruction.operands[i]].shape;
}

double dim(const HloShape& shape, std::int64_t i) {
  return i >= 0 && i < static_cast<std::int64_t>(shape.dims.size())
             ? static_cast<double>(shape.dims[static_cast<std::size_t>(i)])
             : 1.0;
}

double product_of_integers(std::string_view text) {
  double product = 1.0;
  for (const std::int64_t number : hlo_integers(text))
    product *= std::max(1.0, static_cast<double>(number));
  return product;
}

double largest_leaf(const HloShape& shape) {
  std::vector<const HloShape*> leaves;
  shape.append_leaves(leaves);
  double largest = 0.0;
  for (const HloShape* leaf : leaves) largest = std::max(largest, leaf->element_count());
  return largest;
}

double all_elements(const HloShape& shape) {
  std::vector<const HloShape*> leaves;
  shape.append_leaves(leaves);
  double sum = 0.0;
  for (const HloShape* leaf : leaves) sum += leaf->element_count();
  return sum;
}

// Returns the number of comparisons that sort `elements` values in rows of `row` values each.
double sort_flops(double elements, double row) {
  return elements * std::max(std::log2(std::max(row, 1.0)), 1.0);
}

double dot_flops(const HloShape& lhs, const HloShape& out, std::string_view contracting) {
  double contracted = 1.0;
  const std::vector<std::int64_t> dims = hlo_integers(contracting);
  for (const std::int64_t i : dims) contracted *= dim(lhs, i);
  if (dims.empty() && !lhs.dims.empty() && contracting.empty()) {
    contracted = static_cast<double>(lhs.dims.back());  // products of vectors need no attribute
  }
  return 2.0 * largest_leaf(out) * contracted;
}

// Returns the shape itself or, of a tuple, the first array in it. Calls of vendor libraries return
// their result first, and their workspace behind it.
const HloShape& first_array(const HloShape& shape) {
  const HloShape* at = &shape;
  while (at->tuple && !at->elements.empty()) at = &at->elements.front();
  return *at;
}

// Returns the comparisons of a selection that keeps the k largest values of each row sorted while
// it goes through the row.
double top_k_flops(const HloShape& in, const HloShape& out) {
  const HloShape& values = first_array(out);
  return sort_flops(in.element_count(),
                    dim(values, static_cast<std::int64_t>(values.dims.size()) - 1));
}

// Returns the flops that the author of a kernel states: "cost_estimate": {"flops": 12345, …}.
std::optional<double> noted_flops(const HloInstruction& instruction) {
  std::string_view config = instruction.attribute("backend_config");
  for (const std::string_view key : {"cost_estimate", "flops"}) {
    const std::size_t at = config.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    config.remove_prefix(at + key.size());
  }
  const auto numbers = hlo_integers(config.substr(0, config.find_first_of(",}")));
  if (numbers.size() != 1 || numbers[0] <= 0) return std::nullopt;
  return static_cast<double>(numbers[0]);
}

// Returns the number n of arrays of a scatter, whose operands are n targets, the indices and n
// updates. All updates have the same shape.
std::size_t scatter_width(const HloInstruction& scatter) {
  return (scatter.operands.size() - 1) / 2;
}
const HloShape& scatter_updates(const HloComputation& computation, const HloInstruction& scatter) {
  return operand_shape(computation, scatter, scatter_width(scatter) + 1);
}
// Returns the bytes that a scatter writes of its i-th array. These are only the updates, unless the
// array is filled with a constant first.
double scatter_bytes_written(const HloComputation& computation, const HloInstruction& scatter,
                             std::size_t i) {
  const HloInstruction& target = computation.instructions[scatter.operands[i]];
  const bool made_here = target.opcode == "broadcast" || hlo_kind(target) == HloKind::kGenerated ||
                         hlo_kind(target) == HloKind::kConstant;
  const HloShape& updates = operand_shape(computation, scatter, scatter_width(scatter) + 1 + i);
  return made_here ? target.shape.bytes() : std::min(updates.bytes(), target.shape.bytes());
}

// Opcodes that pass on the data of their operand, under another shape or as a copy.
constexpr std::string_view kHandOn[] = {"bitcast", "reshape", "copy", "bitcast-convert"};

// Returns the bytes that a computation writes of a result. If the result is an array that is
// overwritten in place, even under another shape, these are only the overwritten part.
double bytes_written_as(const HloComputation& computation, std::uint32_t value) {
  const double all = computation.instructions[value].shape.bytes();
  while (computation.instructions[value].opcode != "copy" &&
         is_in(computation.instructions[value].opcode, kHandOn) &&
         !computation.instructions[value].operands.empty()) {
    value = computation.instructions[value].operands[0];
  }
  const HloInstruction& instruction = computation.instructions[value];
  if (instruction.opcode == "scatter" && !instruction.shape.tuple) {
    return std::min(all, scatter_bytes_written(computation, instruction, 0));
  }
  if (instruction.opcode != "dynamic-update-slice") return all;
  return std::min(all, operand_shape(computation, instruction, 1).bytes());
}

double bytes_written_by(const HloComputation& computation) {
  const HloInstruction& root = computation.instructions[computation.root];
  if (root.opcode != "tuple") return bytes_written_as(computation, computation.root);
  double sum = 0.0;
  for (const std::uint32_t operand : root.operands) sum += bytes_written_as(computation, operand);
  return sum;
}

}  // namespace

void HloCost::add(const HloCost& other, double times) {
  flops += times * other.flops;
  bytes_read += times * other.bytes_read;
  bytes_written += times * other.bytes_written;
  product |= other.product;
}

HloCosts::HloCosts(const std::string& file, std::string_view text, const HloModule& module)
    : file_(file), text_(text), module_(module), sums_(module.computations.size()) {
  for (std::size_t i = 0; i < module.computations.size(); ++i) {
    by_name_.emplace(module.computations[i].name, static_cast<std::uint32_t>(i));
  }
  check_calls();
}

void HloCosts::fail(const HloInstruction& instruction, const std::string& message) const {
  fail_at_offset(file_, text_, instruction.at, message);
}

double HloCosts::body_flops(const HloInstruction& instruction) {
  const HloComputation* body = callee(instruction, "to_apply");
  return body == nullptr ? 1.0 : std::max(sum_of(*body).flops, 1.0);
}

HloCost HloCosts::sum_of(const HloComputation& computation) {
  Memo& memo = sums_[static_cast<std::size_t>(&computation - module_.computations.data())];
  if (memo.done) return memo.cost;
  HloCost sum;
  for (const HloInstruction& instruction : computation.instructions) {
    const HloKind kind = hlo_kind(instruction);
    if (kind == HloKind::kWork || kind == HloKind::kCall) sum.add(cost(computation, instruction));
  }
  memo = {true, sum};
  return sum;
}

const HloCosts::Uses& HloCosts::uses_of(const HloComputation& computation) {
  const auto [found, is_new] = uses_.try_emplace(&computation);
  if (is_new) {
    found->second.resize(computation.instructions.size());
    for (std::uint32_t i = 0; i < computation.instructions.size(); ++i) {
      const auto& operands = computation.instructions[i].operands;
      for (std::uint32_t k = 0; k < operands.size(); ++k) {
        found->second[operands[k]].push_back({i, k});
      }
    }
  }
  return found->second;
}

// Returns the bytes that a computation reads of a value. It is less than all if every reader looks
// something up in it, such as one layer's weights in a stack, or overwrites a part of it in place.
double HloCosts::bytes_read_of(const HloComputation& computation, std::uint32_t value, int depth) {
  const HloInstruction& instruction = computation.instructions[value];
  const double all = instruction.shape.bytes();
  constexpr int kMostDepth = 100;  // of views, and of fusions inside fusions
  if (value == computation.root || depth > kMostDepth) return all;
  if (const auto known = bytes_read_.find(&instruction); known != bytes_read_.end()) {
    return known->second;
  }
  double bytes = 0.0;
  for (const Use& use : uses_of(computation)[value]) {
    const HloInstruction& reader = computation.instructions[use.reader];
    const HloComputation* fused = reader.opcode == "fusion" ? callee(reader, "calls") : nullptr;
    if (use.operand == 0 && is_in(reader.opcode, kLookups)) {
      bytes += reader.shape.bytes();
    } else if (use.operand == 0 && reader.opcode == "dynamic-update-slice") {
      continue;
    } else if (reader.opcode == "scatter" && use.operand < scatter_width(reader)) {
      bytes += scatter_bytes_written(computation, reader, use.operand);
    } else if (is_in(reader.opcode, kHandOn)) {
      bytes += bytes_read_of(computation, use.reader, depth + 1);
    } else if (fused != nullptr && use.operand < fused->parameters.size()) {
      bytes += bytes_read_of(*fused, fused->parameters[use.operand], depth + 1);
    } else {
      bytes = all;
    }
    if (bytes >= all) break;
  }
  // At the depth limit all bytes are counted, and a result that follows from that is kept also for
  // callers that would have stayed within the limit.
  return bytes_read_[&instruction] = std::min(bytes, all);
}

// Returns the cost of a fusion: the flops of all its instructions, but only the bytes of its
// operands and results, since values inside do not pass through memory.
HloCost HloCosts::fusion(const HloComputation&, const HloInstruction& instruction) {
  const HloComputation* body = callee(instruction, "calls");
  if (body == nullptr) return {};
  HloCost result = sum_of(*body);
  result.bytes_read = 0.0;
  for (const std::uint32_t parameter : body->parameters) {
    result.bytes_read += bytes_read_of(*body, parameter, 0);
  }
  result.bytes_written = bytes_written_by(*body);
  return result;
}

// Returns the flops of a custom call. Products, convolutions and attention of vendor libraries are
// recognised by the name of their target; unknown targets count one flop per element.
HloCost HloCosts::custom_call(const HloComputation& computation, const HloInstruction& instruction,
                              const HloShape& results) {
  HloCost result;
  const std::string_view target = instruction.attribute("custom_call_target");
  const HloShape& lhs = operand_shape(computation, instruction, 0);
  const HloShape& rhs = operand_shape(computation, instruction, 1);
  const HloShape& out = first_array(results);
  const auto has = [&](std::string_view part) {
    return target.find(part) != std::string_view::npos;
  };
  if (const auto flops = noted_flops(instruction)) {
    result.flops = *flops;
  } else if (has("conv") && !instruction.attribute("window").empty() &&
             !instruction.attribute("dim_labels").empty()) {
    result.flops = has("BackwardFilter")  ? hlo_convolution_gradient_flops(instruction, rhs, out)
                   : has("BackwardInput") ? hlo_convolution_gradient_flops(instruction, lhs, rhs)
                                          : hlo_convolution_flops(instruction, lhs, rhs, out);
    result.product = true;
  } else if (has("gemm") || has("matmul") || has("scaled_dot")) {
    const std::string_view config = instruction.attribute("backend_config");
    std::string_view contracting;
    if (const std::size_t at = config.find("lhs_contracting_dimensions");
        at != std::string_view::npos) {
      const std::size_t end = std::min(config.find(']', at), config.size());
      contracting = config.substr(at, end - at);
    }
    if (hlo_integers(contracting).empty()) {
      // A has mk elements, B has kn and C has mn, which gives k = sqrt(|A| |B| / |C|).
      const double elements = std::max(out.element_count(), 1.0);
      const double k = std::sqrt(lhs.element_count() * rhs.element_count() / elements);
      result.flops = 2.0 * elements * k;
    } else {
      result.flops = dot_flops(lhs, out, contracting);
    }
    result.product = true;
  } else if (has("attn") || has("fmha")) {
    // Fused attention has two products in the forward and five in the backward pass. The operands
    // are queries and keys, or one array with queries, keys and values. The length of the sequence
    // is the largest dimension of the keys other than the last, which holds the features.
    const bool packed = rhs.element_count() == 0.0;
    const HloShape& keys = packed ? lhs : rhs;
    double sequence = 1.0;
    for (std::size_t i = 0; i + 1 < keys.dims.size(); ++i) {
      sequence = std::max(sequence, static_cast<double>(keys.dims[i]));
    }
    const double products = has("ackward") ? 5.0 : 2.0;
    result.flops = products * 2.0 * lhs.element_count() / (packed ? 3.0 : 1.0) * sequence;
    result.product = true;
  } else if (has("TopK")) {
    result.flops = top_k_flops(lhs, out);
  } else {
    ++without_rule_[fmt::format("custom-call {}", target)];
    result.flops = largest_leaf(results);
  }
  return result;
}

HloCost HloCosts::cost(const HloComputation& computation, const HloInstruction& instruction) {
  const std::string_view opcode = hlo_without_phase(instruction.opcode);
  const std::optional<std::size_t> result_at =
      hlo_async_result(instruction.opcode, instruction.shape);
  const HloShape& out = result_at ? instruction.shape.elements[*result_at] : instruction.shape;
  const HloShape& first = operand_shape(computation, instruction, 0);
  if (opcode == "fusion") return fusion(computation, instruction);
  HloCost result;
  if (opcode == "call" || opcode == "async") {
    for (const std::uint32_t called : callees(instruction))
      result.add(sum_of(module_.computations[called]));
    return result;
  }
  if (opcode == "while") {
    const std::optional<double> trips = trip_count(instruction);
    if (!trips) ++loops_without_count_;
    for (const std::uint32_t called : callees(instruction)) {
      result.add(sum_of(module_.computations[called]), trips.value_or(1.0));
    }
    return result;
  }
  if (opcode == "conditional") {  // costs as much as its most expensive branch
    for (const std::uint32_t called : callees(instruction)) {
      const HloCost branch = sum_of(module_.computations[called]);
      if (branch.flops + branch.bytes_read >= result.flops + result.bytes_read) result = branch;
    }
    return result;
  }

  const double elements = largest_leaf(out);
  if (is_in(opcode, kMoves)) {
    result.flops = 0.0;
  } else if (is_in(opcode, kElementwise)) {
    result.flops = all_elements(out);
  } else if (opcode == "dot" || opcode == "ragged-dot" || opcode == "scaled-dot") {
    result.flops = dot_flops(first, out, instruction.attribute("lhs_contracting_dims"));
    result.product = true;
  } else if (opcode == "convolution") {
    result.flops =
        hlo_convolution_flops(instruction, first, operand_shape(computation, instruction, 1), out);
    result.product = true;
  } else if (opcode == "reduce") {
    result.flops = first.element_count() * body_flops(instruction);
  } else if (opcode == "map") {
    result.flops = elements * body_flops(instruction);
  } else if (opcode == "scatter") {
    result.flops =
        scatter_updates(computation, instruction).element_count() * body_flops(instruction);
  } else if (opcode == "reduce-window" || opcode == "select-and-scatter") {
    const double window = product_of_integers(hlo_field(instruction.attribute("window"), "size"));
    const HloShape& places =
        opcode == "reduce-window" ? out : operand_shape(computation, instruction, 1);
    result.flops = largest_leaf(places) * window * body_flops(instruction);
  } else if (opcode == "sort") {
    const auto along = hlo_integers(instruction.attribute("dimensions"));
    result.flops = sort_flops(first.element_count(),
                              along.size() == 1 ? dim(first, along[0]) : first.element_count());
  } else if (opcode == "topk") {
    result.flops = top_k_flops(first, out);
  } else if (opcode == "batch-norm-training" || opcode == "batch-norm-inference" ||
             opcode == "batch-norm-grad") {
    result.flops = 8.0 * elements;
  } else if (opcode == "fft") {
    const double length = product_of_integers(instruction.attribute("fft_length"));
    result.flops = 5.0 * elements * std::log2(std::max(length, 2.0));
  } else if (opcode == "cholesky") {
    result.flops = elements * dim(out, static_cast<std::int64_t>(out.dims.size()) - 1) / 3.0;
  } else if (opcode == "triangular-solve") {
    result.flops = elements * dim(first, static_cast<std::int64_t>(first.dims.size()) - 1);
  } else if (opcode == "custom-call") {
    result = custom_call(computation, instruction, out);
  } else {
    ++without_rule_[std::string(opcode)];
    result.flops = elements;
  }

  // All operands are read and all results written, except by instructions that touch only a part.
  if (opcode == "dynamic-update-slice") {
    result.bytes_read = result.bytes_written = operand_shape(computation, instruction, 1).bytes();
    return result;
  }
  result.bytes_written = out.bytes();
  std::vector<std::uint32_t> distinct = instruction.operands;
  if (opcode == "scatter") {
    // A scatter combines its updates with the old elements, so it reads both.
    result.bytes_written = 0.0;
    for (std::size_t i = 0; i < scatter_width(instruction); ++i) {
      result.bytes_written += scatter_bytes_written(computation, instruction, i);
      result.bytes_read += operand_shape(computation, instruction, distinct.size() - 1 - i).bytes();
    }
    distinct.erase(distinct.begin(),
                   distinct.begin() + static_cast<std::ptrdiff_t>(scatter_width(instruction)));
  }
  // A last result that is a plain row of bytes is the workspace of a vendor library. It is not
  // counted as written.
  if (opcode == "custom-call" && result.product && out.tuple && out.elements.size() > 1) {
    const HloShape& last = out.elements.back();
    if (!last.tuple && last.bits == 8 && last.dims.size() == 1) {
      result.bytes_written -= last.bytes();
    }
  }
  if (is_in(opcode, kLookups)) {
    result.bytes_read = out.bytes();
    return result;
  }
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (const std::uint32_t operand : distinct) {
    const HloInstruction& source = computation.instructions[operand];
    // Of a broadcast, only the source is read. Generated values and scalars are not read from
    // memory.
    const HloInstruction& read = source.opcode == "broadcast" && !source.operands.empty()
                                     ? computation.instructions[source.operands[0]]
                                     : source;
    const HloKind kind = hlo_kind(read);
    if (kind == HloKind::kGenerated || (kind == HloKind::kConstant && read.shape.dims.empty())) {
      continue;
    }
    result.bytes_read += read.shape.bytes();
  }
  return result;
}

}  // namespace doppler::formats
