// Rules of ONNX operators that sum over dimensions: products, attention, reductions.
#include <algorithm>
#include <cmath>
#include <map>

#include "doppler/formats/onnx/onnx_op.h"

namespace doppler::formats {
namespace {

void multiply(OnnxOp& op, std::size_t a_at, std::size_t b_at, OnnxType type) {
  if (op.shape(a_at) == nullptr || op.shape(b_at) == nullptr) return;
  OnnxShape a = *op.shape(a_at), b = *op.shape(b_at);
  if (a.empty() || b.empty()) return;
  const bool vector_a = a.size() == 1, vector_b = b.size() == 1;
  if (vector_a) a.insert(a.begin(), 1);
  if (vector_b) b.push_back(1);
  // The fused operators of com.microsoft can take transposed operands.
  if (op.integer("transA", 0) != 0) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (op.integer("transB", 0) != 0) std::swap(b[b.size() - 1], b[b.size() - 2]);
  const std::int64_t inner = a.back();
  OnnxShape out =
      onnx_broadcast(OnnxShape(a.begin(), a.end() - 2), OnnxShape(b.begin(), b.end() - 2));
  if (!vector_a) out.push_back(a[a.size() - 2]);
  if (!vector_b) out.push_back(b.back());
  op.flops = 2.0 * onnx_elements(out) * as_double(inner);
  // One matrix B for all matrices A is a single product with all their rows.
  const double rows = as_double(a[a.size() - 2]), columns = as_double(b.back());
  const double batch = onnx_elements(out) / std::max(rows * columns, 1.0);
  const bool one_b = onnx_elements(OnnxShape(b.begin(), b.end() - 2)) == 1.0;
  op.works = {one_b ? product_of(1.0, batch * rows, columns, as_double(inner))
                    : product_of(batch, rows, columns, as_double(inner))};
  op.set(0, type, std::move(out));
}
void mat_mul(OnnxOp& op) {
  multiply(op, 0, 1, op.input(0).type);
}
void mat_mul_integer(OnnxOp& op) {
  op.computes_in = ElementType::kI8;
  multiply(op, 0, 1, OnnxType::kInt32);
}
void mat_mul_integer_to_float(OnnxOp& op) {
  op.computes_in = ElementType::kI8;
  multiply(op, 0, 1, OnnxType::kFloat);
}
void qlinear_mat_mul(OnnxOp& op) {
  multiply(op, 0, 3, op.has_input(7) ? op.input(7).type : op.input(0).type);
}

// Operators of com.microsoft with weights of K x N that are packed in blocks. Those of MatMulBnb4
// may be N x K, for gradients.
void mat_mul_nbits(OnnxOp& op) {
  const OnnxShape* a = op.shape(0);
  if (a == nullptr || a->empty()) return;
  OnnxShape out = *a;
  out.back() = op.integer(op.integer("transB", 1) != 0 ? "N" : "K", 1);
  op.flops = 2.0 * onnx_elements(out) * as_double(a->back());
  op.works = {product_of(1.0, onnx_elements(OnnxShape(a->begin(), a->end() - 1)),
                         as_double(out.back()), as_double(a->back()))};
  op.set(0, op.input(0).type, std::move(out));
}

void multiply_matrices(OnnxOp& op, std::size_t b_at, OnnxType type) {
  const OnnxShape *a = op.shape(0), *b = op.shape(b_at);
  if (a == nullptr || b == nullptr || a->size() != 2 || b->size() != 2) return;
  const bool turn_a = op.integer("transA", 0) != 0, turn_b = op.integer("transB", 0) != 0;
  const std::int64_t m = (*a)[turn_a ? 1 : 0], k = (*a)[turn_a ? 0 : 1], n = (*b)[turn_b ? 0 : 1];
  op.flops = 2.0 * as_double(m) * as_double(n) * as_double(k);
  op.works = {product_of(1.0, as_double(m), as_double(n), as_double(k))};
  op.set(0, type, {m, n});
}
void gemm(OnnxOp& op) {
  multiply_matrices(op, 1, op.input(0).type);
}
// An operator of com.microsoft. Its inputs are A and B, each followed by its scale and zero point,
// then C, then the scale and zero point of the result, without which the result is not quantised.
void qgemm(OnnxOp& op) {
  op.computes_in = ElementType::kI8;
  multiply_matrices(op, 3, op.has_input(8) ? op.input(8).type : OnnxType::kFloat);
}

// Operators of com.microsoft in which every row goes through the k experts that it chooses. The
// weights, [experts, …], are the inputs 2, 2 + step and 2 + 2 * step, with scales and biases
// between.
void mixture_of_experts(OnnxOp& op, std::size_t step) {
  const OnnxShape *x = op.shape(0), *first = op.shape(2);
  if (x == nullptr || first == nullptr || x->empty() || first->empty()) return;
  const double rows = onnx_elements(OnnxShape(x->begin(), x->end() - 1));
  const double experts = std::max(as_double(first->front()), 1.0);
  const double chosen = std::clamp(as_double(op.integer("k", 1)), 1.0, experts);
  const std::int64_t bits = op.integer("expert_weight_bits", 4);
  // Rows are taken to choose different experts, until all experts are read.
  const double share = std::min(rows * chosen / experts, 1.0);
  const double active = std::max(share * experts, 1.0);
  const double width = as_double(x->back()), row_bytes = onnx_type_bytes(op.input(0).type);
  double weights = 0.0;
  for (std::size_t i = 2; i <= 2 + 2 * step; i += step) {
    const double values =
        op.input(i).elements() * as_double(onnx_packed_values(op.input(i).type, bits));
    weights += values;
    if (values <= 0.0 || width <= 0.0) continue;
    // The first and the third product widen rows to the experts' size, the second goes back.
    const double inner = values / experts / width;
    const bool back = i == 2 + step;
    const double columns = back ? width : inner, depth = back ? inner : width;
    op.works.push_back(product_of(active, rows * chosen / active, columns, depth));
    op.works.back().bytes_read = share * op.input(i).bytes() + rows * chosen * depth * row_bytes;
    op.works.back().bytes_written = rows * chosen * columns * row_bytes;
  }
  op.flops = 2.0 * rows * chosen * weights / experts;
  double read = op.input(0).bytes() + op.input(1).bytes();
  for (std::size_t i = 2; i < op.input_count(); ++i) read += share * op.input(i).bytes();
  op.bytes_read = read;
  op.set_like(0, 0);
}
void moe(OnnxOp& op) {
  mixture_of_experts(op, 2);
}
void qmoe(OnnxOp& op) {
  mixture_of_experts(op, 3);
}

void einsum(OnnxOp& op) {
  std::string equation;
  for (const char c : op.string("equation")) {
    if (c != ' ') equation.push_back(c);
  }
  const std::size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::map<char, std::int64_t> sizes;
  std::map<char, int> uses;
  std::map<char, int> terms;  // bit 0: it is in the first term, bit 1: in another one
  OnnxShape ellipsis;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const std::size_t comma = std::min(left.find(',', begin), left.size());
    const std::string term =
        left.substr(std::min(begin, left.size()), comma - std::min(begin, left.size()));
    begin = comma + 1;
    const OnnxShape* shape = op.shape(i);
    if (shape == nullptr) return;
    const auto letters = static_cast<std::size_t>(
        std::count_if(term.begin(), term.end(), [](char c) { return c != '.'; }));
    if (letters > shape->size()) return;
    std::size_t at = 0;
    for (std::size_t j = 0; j < term.size(); ++j) {
      if (term[j] == '.') {
        const std::size_t hidden = shape->size() - letters;
        ellipsis = onnx_broadcast(
            ellipsis, OnnxShape(shape->begin() + static_cast<std::ptrdiff_t>(at),
                                shape->begin() + static_cast<std::ptrdiff_t>(at + hidden)));
        at += hidden;
        while (j + 1 < term.size() && term[j + 1] == '.') ++j;
        continue;
      }
      if (at >= shape->size()) return;
      std::int64_t& size = sizes.try_emplace(term[j], 1).first->second;
      size = std::max(size, (*shape)[at++]);
      ++uses[term[j]];
      terms[term[j]] |= i == 0 ? 1 : 2;
    }
  }
  std::string right;
  if (arrow != std::string::npos) {
    right = equation.substr(arrow + 2);
  } else {
    if (!ellipsis.empty()) right = "...";
    for (const auto& [letter, count] : uses) {
      if (count == 1) right.push_back(letter);
    }
  }
  OnnxShape out;
  for (std::size_t j = 0; j < right.size(); ++j) {
    if (right[j] == '.') {
      out.insert(out.end(), ellipsis.begin(), ellipsis.end());
      while (j + 1 < right.size() && right[j + 1] == '.') ++j;
    } else if (const auto found = sizes.find(right[j]); found != sizes.end()) {
      out.push_back(found->second);
    }
  }
  double points = onnx_elements(ellipsis);
  for (const auto& [letter, size] : sizes) points *= as_double(size);
  op.flops = (op.input_count() > 1 ? 2.0 : 1.0) * points;
  if (op.input_count() > 1) {
    std::vector<ContractionIndex> indices{{onnx_elements(ellipsis), true, true, true}};
    for (const auto& [letter, size] : sizes) {
      indices.push_back({as_double(size), (terms[letter] & 1) != 0, (terms[letter] & 2) != 0,
                         right.find(letter) != std::string::npos});
    }
    op.works = {contraction_of(indices)};
  } else {
    const double left_over = onnx_elements(out);
    op.works = {points > left_over
                    ? kernel::row_work(kernel::WorkClass::kReduction, left_over, points / left_over)
                    : kernel::Work{.work_class = kernel::WorkClass::kCopy}};
  }
  op.set(0, op.input(0).type, std::move(out));
}

// The standard's Attention (opset 23). Q, K and V are [batch, heads, length, size], or
// [batch, length, heads * size].
void attention_of_parts(OnnxOp& op) {
  const OnnxShape *q = op.shape(0), *k = op.shape(1), *v = op.shape(2);
  if (q == nullptr || k == nullptr || v == nullptr) return;
  if (std::min({q->size(), k->size(), v->size()}) < 3) return;
  OnnxShape out = *q;
  out.back() = v->back();
  const double keys = as_double((*k)[k->size() - 2]);
  const double past =
      op.shape(4) != nullptr && op.shape(4)->size() == 4 ? as_double((*op.shape(4))[2]) : 0.0;
  op.flops = 4.0 * onnx_elements(*q) * (keys + past);
  op.set(0, op.input(0).type, std::move(out));
  for (std::size_t i = 1; i < 3; ++i) {
    OnnxShape present = *op.shape(i);
    present[present.size() - 2] += onnx_size(past);
    op.set(i, op.input(i).type, std::move(present));
  }
}

// The Attention of com.microsoft, which first projects its input [batch, length, width] by weights
// of width x 3 * hidden.
void attention_with_projection(OnnxOp& op) {
  const OnnxShape *x = op.shape(0), *w = op.shape(1);
  if (x == nullptr || w == nullptr || x->size() != 3 || w->size() != 2) return;
  const double batch = as_double((*x)[0]), length = as_double((*x)[1]), width = as_double((*x)[2]);
  const std::int64_t hidden = (*w)[1] / 3;
  const std::int64_t heads = std::clamp<std::int64_t>(op.integer("num_heads", 1), 1, 1 << 20);
  const OnnxShape* past = op.shape(4);
  const std::int64_t before = past != nullptr && past->size() == 5 ? (*past)[3] : 0;
  const double keys = length + as_double(before);
  op.flops = 2.0 * batch * length * width * as_double((*w)[1]) +
             4.0 * batch * length * keys * as_double(hidden);
  // Quantised operands give results of the bias' type.
  const bool quantised = op.node().op == "QAttention";
  const OnnxType type = op.input(quantised ? 2 : 0).type;
  op.set(0, type, {(*x)[0], (*x)[1], hidden});
  op.set(1, type, {2, (*x)[0], heads, onnx_size(keys), hidden / heads});

  kernel::Work projection = product_of(1.0, batch * length, as_double((*w)[1]), width);
  if (quantised) projection.type = ElementType::kI8;
  const double projected = batch * length * as_double((*w)[1]) * onnx_type_bytes(type);
  projection.bytes_read = op.input(0).bytes() + op.input(1).bytes() + op.input(2).bytes();
  projection.bytes_written = projected;
  kernel::Work core{.work_class = kernel::WorkClass::kAttention};
  core.flops = 4.0 * batch * length * keys * as_double(hidden);
  core.bytes_read = projected;
  for (std::size_t i = 3; i < op.input_count(); ++i) *core.bytes_read += op.input(i).bytes();
  core.bytes_written = 0.0;
  for (std::size_t i = 0; i < op.node().outputs.size(); ++i) {
    if (!op.node().outputs[i].empty()) *core.bytes_written += op.outputs[i].bytes();
  }
  op.works = {projection, core};
}

void attention(OnnxOp& op) {
  if (op.node().domain.empty()) {
    attention_of_parts(op);
  } else {
    attention_with_projection(op);
  }
}

// Returns the width of the query alone. If keys and values are packed with it, they are either in a
// dimension of their own, [batch, length, heads, 3, head], or side by side in the last dimension.
std::int64_t query_width(const OnnxShape& q, bool packed, std::int64_t heads,
                         std::int64_t kv_heads) {
  if (!packed) return q.back();
  if (q.size() == 5) return onnx_size(as_double(q[2]) * as_double(q[4]));
  return onnx_size(as_double(q.back()) * as_double(heads) / as_double(heads + 2 * kv_heads));
}

// Returns the number of keys. Keys are [batch, length, width], or [batch, length, heads, 2, head]
// if packed with values, or [batch, heads, length, head] as in a cache. If `k` is null, they are
// packed with the query.
std::int64_t length_of_keys(const OnnxShape* k, std::int64_t query_length) {
  if (k == nullptr || k->size() < 3) return query_length;
  return (*k)[k->size() == 4 ? 2 : 1];
}

// The attention of com.microsoft whose queries, keys and values are projected already. Keys and
// values may be packed with the query.
void multi_head_attention(OnnxOp& op) {
  const OnnxShape* q = op.shape(0);
  if (q == nullptr || q->size() < 3) return;
  const std::int64_t heads = std::clamp<std::int64_t>(op.integer("num_heads", 1), 1, 1 << 20);
  const std::int64_t kv_heads =
      std::clamp<std::int64_t>(op.integer("kv_num_heads", heads), 1, 1 << 20);
  const bool grouped = op.node().op == "GroupQueryAttention";
  const std::size_t past_at = grouped ? 3 : 6;
  const std::int64_t length = (*q)[1];
  const OnnxShape* past = op.shape(past_at);
  const std::int64_t before = past != nullptr && past->size() == 4 ? (*past)[2] : 0;
  const std::int64_t hidden = query_width(*q, !op.has_input(1), heads, kv_heads);
  const std::int64_t own_keys = length_of_keys(op.shape(1), length);
  const std::int64_t keys = onnx_size(as_double(own_keys) + as_double(before));
  op.flops = 4.0 * as_double((*q)[0]) * as_double(length) * as_double(hidden) * as_double(keys);
  op.set(0, op.input(0).type, {(*q)[0], length, hidden});
  for (std::size_t i = 1; i < 3; ++i)
    op.set(i, op.input(0).type, {(*q)[0], kv_heads, keys, hidden / heads});
}

void rotary(OnnxOp& op) {
  op.set_like(0, 0);
  op.flops = 4.0 * op.input(0).elements();
}

template <int kFlops>
void reduce(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  const auto axes = op.list_or_input("axes", 1);
  if (!axes && op.has_input(1)) return;  // the axes are known only when the model runs
  const bool keep = op.integer("keepdims", 1) != 0;
  std::vector<bool> reduced(x->size(), !axes || axes->empty());
  if ((!axes || axes->empty()) && op.integer("noop_with_empty_axes", 0) != 0) {
    op.set_like(0, 0);
    op.view = true;
    return;
  }
  for (const std::int64_t axis : axes.value_or(std::vector<std::int64_t>{})) {
    if (const auto at = onnx_axis(axis, x->size())) reduced[*at] = true;
  }
  OnnxShape out;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!reduced[i]) {
      out.push_back((*x)[i]);
    } else if (keep) {
      out.push_back(1);
    }
  }
  op.flops = kFlops * onnx_elements(*x);
  op.works = {kernel::row_work(kernel::WorkClass::kReduction, onnx_elements(out),
                               onnx_elements(*x) / std::max(onnx_elements(out), 1.0))};
  op.set(0, op.input(0).type, std::move(out));
}

void arg(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr) return;
  OnnxShape out = *x;
  if (const auto axis = onnx_axis(op.integer("axis", 0), out.size())) {
    if (op.integer("keepdims", 1) != 0) {
      out[*axis] = 1;
    } else {
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(*axis));
    }
  }
  op.flops = onnx_elements(*x);
  const double rows = onnx_elements(out);
  op.works = {kernel::row_work(kernel::WorkClass::kReduction, rows,
                               onnx_elements(*x) / std::max(rows, 1.0))};
  op.set(0, OnnxType::kInt64, std::move(out));
}

void loss(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr || x->size() < 2) return;
  OnnxShape out;
  if (op.string("reduction", "mean") == "none") {
    out = *x;
    out.erase(out.begin() + 1);
  }
  op.flops = 6.0 * onnx_elements(*x);
  const auto classes = as_double((*x)[1]);
  op.works = {kernel::row_work(kernel::WorkClass::kSoftmax,
                               onnx_elements(*x) / std::max(classes, 1.0), classes)};
  op.set_like(1, 0);
  op.set(0, op.input(0).type, std::move(out));
}

void determinant(OnnxOp& op) {
  const OnnxShape* x = op.shape(0);
  if (x == nullptr || x->size() < 2) return;
  op.flops = onnx_elements(*x) * as_double(x->back()) * 2.0 / 3.0;
  op.set(0, op.input(0).type, OnnxShape(x->begin(), x->end() - 2));
}

constexpr OnnxRuleEntry kOnnxProductRules[] = {
    {"MatMul", mat_mul},
    {"FusedMatMul", mat_mul},
    {"TransposeMatMul", mat_mul},
    {"MatMulInteger", mat_mul_integer},
    {"MatMulIntegerToFloat", mat_mul_integer_to_float},
    {"DynamicQuantizeMatMul", mat_mul_integer_to_float},
    {"QLinearMatMul", qlinear_mat_mul},
    {"MatMulNBits", mat_mul_nbits},
    {"MatMulBnb4", mat_mul_nbits},
    {"Gemm", gemm},
    {"FusedGemm", gemm},
    {"GemmFloat8", gemm},
    {"QGemm", qgemm},
    {"MoE", moe},
    {"QMoE", qmoe},
    {"Einsum", einsum},
    {"Attention", attention},
    {"QAttention", attention_with_projection},
    {"MultiHeadAttention", multi_head_attention},
    {"GroupQueryAttention", multi_head_attention},
    {"DecoderMaskedMultiHeadAttention", multi_head_attention},
    {"RotaryEmbedding", rotary},
    {"ReduceSum", reduce<1>},
    {"ReduceMean", reduce<1>},
    {"ReduceMax", reduce<1>},
    {"ReduceMin", reduce<1>},
    {"ReduceProd", reduce<1>},
    {"ReduceL1", reduce<2>},
    {"ReduceL2", reduce<2>},
    {"ReduceLogSum", reduce<1>},
    {"ReduceLogSumExp", reduce<2>},
    {"ReduceSumSquare", reduce<2>},
    {"ArgMax", arg},
    {"ArgMin", arg},
    {"SoftmaxCrossEntropyLoss", loss},
    {"NegativeLogLikelihoodLoss", loss},
    {"Det", determinant},
    {{}, nullptr}};

}  // namespace

const OnnxRuleEntry* onnx_product_rules() {
  return kOnnxProductRules;
}

}  // namespace doppler::formats
