#include "doppler/kernel/work.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace doppler::kernel {
namespace {

constexpr std::array<std::string_view, kWorkClassCount> kClassNames = {
    "product", "convolution", "attention", "elementwise", "activation", "gated", "norm",
    "softmax", "reduction",   "gather",    "copy",        "recurrence", "solve", "factorisation"};

// A rule of the table. It applies to names that have one of the words as a whole word, or one of
// the parts anywhere, in small letters; words and parts are separated by spaces.
struct NameRule {
  WorkClass work_class;
  std::string_view words;
  std::string_view parts;
};

// The first rule that applies counts, so that what contains the name of something else stands
// before it: a normalisation or rotation of embeddings before embeddings, a transposed convolution
// before transposes.
constexpr NameRule kRules[] = {
    // Collectives move what they combine.
    {WorkClass::kCopy, "",
     "allreduce all-reduce all_reduce allgather all-gather all_gather reducescatter reduce-scatter "
     "reduce_scatter alltoall all-to-all all_to_all collective"},
    {WorkClass::kAttention, "sdpa", "attention flashattn flash_attn fmha"},
    {WorkClass::kSoftmax, "", "softmax hardmax crossentropy cross_entropy"},
    {WorkClass::kNorm, "norm lrn mvn",
     "layernorm layer_norm rmsnorm rms_norm batchnorm batch_norm groupnorm group_norm instancenorm "
     "instance_norm normaliz"},
    {WorkClass::kElementwise, "", "quantizelinear quantize_linear"},
    {WorkClass::kGated, "glu geglu rope rotary rotaryembed", "swiglu silu_and_mul silu_mul rotary"},
    {WorkClass::kGather, "index embed embedding onehot take",
     "gather scatter embedding index_ embed_ one_hot lookup gridsample grid_sample"},
    {WorkClass::kConvolution, "conv", "convolution conv1d conv2d conv3d deconv"},
    {WorkClass::kProduct,
     "mm bmm mv addmm addbmm baddbmm addmv dot dots gemv linear contract syrk dense vdot",
     "matmul gemm einsum innerproduct inner_product fullyconnected fully_connected moe"},
    {WorkClass::kRecurrence, "lstm gru rnn", "lstm deltarule delta_rule"},
    {WorkClass::kSolve, "trsm solve", "triangular"},
    // Before factorisations, since "ReLU" has the word "LU" in it.
    {WorkClass::kElementwise, "", "relu"},
    {WorkClass::kFactorisation, "potrf getrf geqrf qr svd eigh det",
     "cholesky linalg_lu lu_factor"},
    {WorkClass::kReduction, "sum mean amax amin prod fft dft stft median unique",
     "reduce reduction pool argmax argmin arg_max arg_min cumsum cumprod cumulative topk top_k "
     "sort "
     "logsumexp spectrogram nonmaxsuppression nonzero"},
    {WorkClass::kCopy,
     "cat cast to zero pad tile flip roll crop copyto iota range stack clone packing reorg",
     "transpose permut concat slice split padding expand copy convert reshape broadcast fill "
     "repeat "
     "shuffle unfold strided zeros ones_ memset memcpy contiguous tospace todepth reverse"},
    {WorkClass::kActivation,
     "exp exp2 expm1 exponential log log1p log2 sin cos tan sinh cosh sine cosine pow power elu "
     "erf logistic celu adam",
     "tanh sigmoid gelu silu swish mish softplus softsign sqrt selu erf_"},
};

// Returns the name with a space between its words: small letters, words that capitals begin, and
// digits are told apart. "FusedMatMul" is " fused mat mul ".
std::string words_of(std::string_view name) {
  std::string words = " ";
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (std::isalnum(c) == 0) {
      words += ' ';
      continue;
    }
    const bool starts =
        std::isupper(c) != 0 && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1])) != 0;
    if (starts) words += ' ';
    words += static_cast<char>(std::tolower(c));
  }
  return words + ' ';
}

template <class Test>
bool any_of_list(std::string_view list, const Test& test) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (end > 0 && test(list.substr(0, end))) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

std::string_view work_class_name(WorkClass work_class) {
  return kClassNames[static_cast<std::size_t>(work_class)];
}

std::optional<WorkClass> find_work_class(std::string_view name) {
  const auto found = std::find(kClassNames.begin(), kClassNames.end(), name);
  if (found == kClassNames.end()) return std::nullopt;
  return static_cast<WorkClass>(found - kClassNames.begin());
}

WorkClass classify_op(std::string_view op) {
  // The library that an operator comes from says nothing of what it does ("aten::", "prims::").
  if (const std::size_t at = op.rfind("::"); at != std::string_view::npos) op.remove_prefix(at + 2);
  const std::string words = words_of(op);
  std::string small(op);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const NameRule& rule : kRules) {
    const bool applies =
        any_of_list(rule.words,
                    [&](std::string_view word) {
                      const std::size_t at = words.find(word);
                      for (std::size_t from = at; from != std::string::npos;
                           from = words.find(word, from + 1)) {
                        if (words[from - 1] == ' ' && words[from + word.size()] == ' ') return true;
                      }
                      return false;
                    }) ||
        any_of_list(rule.parts,
                    [&](std::string_view part) { return small.find(part) != std::string::npos; });
    if (applies) return rule.work_class;
  }
  return WorkClass::kElementwise;
}

bool is_in_range(const Work& work) {
  const auto fits = [](double number, double least) {
    return number >= least && number <= kLargestOfWork;
  };
  return fits(work.count, 1.0) && fits(work.flops.value_or(0.0), 0.0) &&
         fits(work.bytes_read.value_or(0.0), 0.0) && fits(work.bytes_written.value_or(0.0), 0.0) &&
         fits(work.batch, 1.0) && fits(work.rows, 0.0) && fits(work.columns, 0.0) &&
         fits(work.depth, 0.0);
}

Work product_work(double batch, double rows, double columns, double depth) {
  if (depth == 1.0 && (rows == 1.0 || columns == 1.0)) {
    return {.work_class = WorkClass::kElementwise};
  }
  if (rows == 1.0 && columns == 1.0) return row_work(WorkClass::kReduction, batch, depth);
  Work work{.work_class = WorkClass::kProduct};
  if (!(batch >= 1.0 && rows > 0.0 && columns > 0.0 && depth > 0.0)) return work;
  work.batch = batch;
  work.rows = rows;
  work.columns = columns;
  work.depth = depth;
  return work;
}

Work row_work(WorkClass work_class, double rows, double columns) {
  Work work{.work_class = work_class};
  if (!(rows > 0.0 && columns > 0.0)) return work;
  work.rows = rows;
  work.columns = columns;
  return work;
}

}  // namespace doppler::kernel
