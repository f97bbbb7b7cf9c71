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

// Returns how many elements a dot sums for each of its result.
double dot_depth(const HloShape& lhs, std::string_view contracting) {
  double contracted = 1.0;
  const std::vector<std::int64_t> dims = hlo_integers(contracting);
  for (const std::int64_t i : dims) contracted *= dim(lhs, i);
  if (dims.empty() && !lhs.dims.empty() && contracting.empty()) {
    contracted = static_cast<double>(lhs.dims.back());  // products of vectors need no attribute
  }
  return contracted;
}

double dot_flops(const HloShape& lhs, const HloShape& out, std::string_view contracting) {
  return 2.0 * largest_leaf(out) * dot_depth(lhs, contracting);
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

// Returns the type of the operand that has the most bytes, or of the result if no operand has a
// type.
std::optional<ElementType> type_of_most(const HloComputation& computation,
                                        const HloInstruction& instruction, const HloShape& out) {
  std::optional<ElementType> type;
  double most = -1.0;
  for (const std::uint32_t operand : instruction.operands) {
    const HloShape& shape = computation.instructions[operand].shape;
    if (!shape.type || shape.bytes() <= most) continue;
    type = shape.type;
    most = shape.bytes();
  }
  return type ? type : first_array(out).type;
}

}  // namespace

void HloCosts::Sum::add(const HloCost& cost, double times) {
  total_.flops += times * cost.flops;
  total_.bytes_read += times * cost.bytes_read;
  total_.bytes_written += times * cost.bytes_written;
  total_.product |= cost.product;
  for (const kernel::Work& work : cost.works) {
    const bool works = *work.flops + *work.bytes_read + *work.bytes_written > 0.0;
    if (works) works_.add(work, times);
  }
}

HloCost HloCosts::Sum::total() && {
  total_.works = works_.list();
  return std::move(total_);
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

const HloCost& HloCosts::sum_of(const HloComputation& computation) {
  Memo& memo = sums_[static_cast<std::size_t>(&computation - module_.computations.data())];
  if (memo.done) return memo.cost;
  Sum sum;
  for (const HloInstruction& instruction : computation.instructions) {
    const HloKind kind = hlo_kind(instruction);
    if (kind == HloKind::kWork || kind == HloKind::kCall) sum.add(cost(computation, instruction));
  }
  memo = {true, std::move(sum).total()};
  return memo.cost;
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
HloCost HloCosts::fusion(const HloInstruction& instruction) {
  const HloComputation* body = callee(instruction, "calls");
  if (body == nullptr) return {};
  const HloCost& inside = sum_of(*body);
  HloCost result{.flops = inside.flops, .product = inside.product};
  for (const std::uint32_t parameter : body->parameters) {
    result.bytes_read += bytes_read_of(*body, parameter, 0);
  }
  result.bytes_written = bytes_written_by(*body);
  result.works =
      hlo_fusion_works(inside.works, result.flops, result.bytes_read, result.bytes_written);
  return result;
}

HloCost HloCosts::loop(const HloInstruction& instruction) {
  const std::optional<double> trips = trip_count(instruction);
  if (!trips) ++loops_without_count_;
  Sum sum;
  for (const std::uint32_t called : callees(instruction)) {
    sum.add(sum_of(module_.computations[called]), trips.value_or(1.0));
  }
  return std::move(sum).total();
}

HloCost HloCosts::dearest_branch(const HloInstruction& instruction) {
  const HloCost none;
  const HloCost* dearest = &none;
  for (const std::uint32_t called : callees(instruction)) {
    const HloCost& branch = sum_of(module_.computations[called]);
    if (branch.flops + branch.bytes_read >= dearest->flops + dearest->bytes_read) dearest = &branch;
  }
  return *dearest;
}

// Products, convolutions and attention of vendor libraries are recognised by the name of their
// target; unknown targets count one flop per element.
HloCost HloCosts::custom_call(const HloComputation& computation, const HloInstruction& instruction,
                              const HloShape& results) {
  HloCost result;
  const std::string_view target = instruction.attribute("custom_call_target");
  kernel::Work work{.work_class = kernel::classify_op(target)};
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
    if (has("BackwardFilter")) {
      result.flops = hlo_convolution_gradient_flops(instruction, rhs, out);
      work = hlo_kernel_gradient_work(instruction, rhs, out);
    } else if (has("BackwardInput")) {
      result.flops = hlo_convolution_gradient_flops(instruction, lhs, rhs);
      work = hlo_input_gradient_work(instruction, lhs, rhs, out);
    } else {
      result.flops = hlo_convolution_flops(instruction, lhs, rhs, out);
      work = hlo_convolution_work(instruction, lhs, rhs, out);
    }
    result.product = true;
  } else if (has("gemm") || has("matmul") || has("scaled_dot")) {
    const std::string_view config = instruction.attribute("backend_config");
    const auto list = [&](std::string_view key) {
      const std::size_t at = config.find(key);
      return at == std::string_view::npos ? std::string_view()
                                          : config.substr(at, config.find(']', at) - at);
    };
    const std::string_view contracting = list("lhs_contracting_dimensions");
    double depth = 0.0;
    if (hlo_integers(contracting).empty()) {
      // A has mk elements, B has kn and C has mn, which gives k = sqrt(|A| |B| / |C|).
      const double elements = std::max(out.element_count(), 1.0);
      depth = std::sqrt(lhs.element_count() * rhs.element_count() / elements);
      result.flops = 2.0 * elements * depth;
    } else {
      depth = dot_depth(lhs, contracting);
      result.flops = dot_flops(lhs, out, contracting);
    }
    work = hlo_dot_work(lhs, out, list("lhs_batch_dimensions"), depth);
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
    work.work_class = kernel::WorkClass::kAttention;
    result.product = true;
  } else if (has("TopK")) {
    result.flops = top_k_flops(lhs, out);
  } else {
    ++without_rule_[fmt::format("custom-call {}", target)];
    result.flops = largest_leaf(results);
  }
  if (result.product) work.type = hlo_product_type(lhs, rhs);
  result.works = {work};
  return result;
}

HloCost HloCosts::computed(const HloComputation& computation, const HloInstruction& instruction,
                           std::string_view opcode, const HloShape& out) {
  if (opcode == "custom-call") return custom_call(computation, instruction, out);
  HloCost result;
  kernel::Work work{.work_class = hlo_work_class(opcode)};
  const HloShape& first = operand_shape(computation, instruction, 0);
  const HloShape& second = operand_shape(computation, instruction, 1);
  const double elements = largest_leaf(out);
  if (is_in(opcode, kMoves)) {
    result.flops = 0.0;
  } else if (is_in(opcode, kElementwise)) {
    result.flops = all_elements(out);
  } else if (opcode == "dot" || opcode == "ragged-dot" || opcode == "scaled-dot") {
    const std::string_view contracting = instruction.attribute("lhs_contracting_dims");
    result.flops = dot_flops(first, out, contracting);
    result.product = true;
    work = hlo_dot_work(first, out, instruction.attribute("lhs_batch_dims"),
                        dot_depth(first, contracting));
  } else if (opcode == "convolution") {
    result.flops = hlo_convolution_flops(instruction, first, second, out);
    result.product = true;
    work = hlo_convolution_work(instruction, first, second, out);
  } else if (opcode == "reduce") {
    result.flops = first.element_count() * body_flops(instruction);
    work =
        kernel::row_work(kernel::WorkClass::kReduction, elements, first.element_count() / elements);
  } else if (opcode == "map") {
    result.flops = elements * body_flops(instruction);
  } else if (opcode == "scatter") {
    result.flops =
        scatter_updates(computation, instruction).element_count() * body_flops(instruction);
  } else if (opcode == "reduce-window" || opcode == "select-and-scatter") {
    const double window = product_of_integers(hlo_field(instruction.attribute("window"), "size"));
    const HloShape& places = opcode == "reduce-window" ? out : second;
    result.flops = largest_leaf(places) * window * body_flops(instruction);
    work = kernel::row_work(kernel::WorkClass::kReduction, largest_leaf(places), window);
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
  } else {
    ++without_rule_[std::string(opcode)];
    result.flops = elements;
  }
  if (result.product) work.type = hlo_product_type(first, second);
  result.works = {work};
  return result;
}

// All operands are read and all results written, except by instructions that touch only a part.
void HloCosts::add_traffic(const HloComputation& computation, const HloInstruction& instruction,
                           std::string_view opcode, const HloShape& out, HloCost& cost) {
  if (opcode == "dynamic-update-slice") {
    cost.bytes_read = cost.bytes_written = operand_shape(computation, instruction, 1).bytes();
    return;
  }
  cost.bytes_written = out.bytes();
  std::vector<std::uint32_t> distinct = instruction.operands;
  if (opcode == "scatter") {
    // A scatter combines its updates with the old elements, so it reads both.
    cost.bytes_written = 0.0;
    for (std::size_t i = 0; i < scatter_width(instruction); ++i) {
      cost.bytes_written += scatter_bytes_written(computation, instruction, i);
      cost.bytes_read += operand_shape(computation, instruction, distinct.size() - 1 - i).bytes();
    }
    distinct.erase(distinct.begin(),
                   distinct.begin() + static_cast<std::ptrdiff_t>(scatter_width(instruction)));
  }
  // A last result that is a plain row of bytes is the workspace of a vendor library. It is not
  // counted as written.
  if (opcode == "custom-call" && cost.product && out.tuple && out.elements.size() > 1) {
    const HloShape& last = out.elements.back();
    if (!last.tuple && last.bits == 8 && last.dims.size() == 1) {
      cost.bytes_written -= last.bytes();
    }
  }
  if (is_in(opcode, kLookups)) {
    cost.bytes_read = out.bytes();
    return;
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
    cost.bytes_read += read.shape.bytes();
  }
}

HloCost HloCosts::cost(const HloComputation& computation, const HloInstruction& instruction) {
  const std::string_view opcode = hlo_without_phase(instruction.opcode);
  if (opcode == "fusion") return fusion(instruction);
  if (opcode == "while") return loop(instruction);
  if (opcode == "conditional") return dearest_branch(instruction);
  if (opcode == "call" || opcode == "async") {
    Sum sum;
    for (const std::uint32_t called : callees(instruction)) {
      sum.add(sum_of(module_.computations[called]));
    }
    return std::move(sum).total();
  }
  const auto result_at = hlo_async_result(instruction.opcode, instruction.shape);
  const HloShape& out = result_at ? instruction.shape.elements[*result_at] : instruction.shape;
  HloCost result = computed(computation, instruction, opcode, out);
  add_traffic(computation, instruction, opcode, out, result);
  kernel::Work& work = result.works.front();
  work.flops = result.flops;
  work.bytes_read = result.bytes_read;
  work.bytes_written = result.bytes_written;
  if (!work.type) work.type = type_of_most(computation, instruction, out);
  return result;
}

}  // namespace doppler::formats
