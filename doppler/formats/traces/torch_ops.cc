#include "doppler/formats/traces/torch_ops.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "doppler/base/text.h"

namespace doppler::formats {

namespace {

double product(const std::vector<double>& shape) {
  double elements = 1.0;
  for (const double size : shape) elements *= std::max(size, 0.0);
  return elements;
}

// Returns the flops of the product of [.., m, k] and [.., k, n], the inputs `first` and the next.
double matrix_product(const TensorShapes& inputs, std::size_t first) {
  if (inputs.size() < first + 2) return 0.0;
  const auto& a = inputs[first];
  const auto& b = inputs[first + 1];
  if (a.empty() || b.empty()) return 0.0;
  const double columns = b.size() > 1 ? std::max(b.back(), 0.0) : 1.0;
  return 2.0 * product(a) * columns;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_convolution(std::string_view op) {
  return contains(op, "conv") && !contains(op, "convert");
}

bool is_attention(std::string_view op) {
  return contains(op, "dot_product") || contains(op, "_flash_attention") ||
         contains(op, "_efficient_attention") || contains(op, "_cudnn_attention") ||
         contains(op, "_flash_attn");
}

// Returns the flops of attention: two products of s x d x s for each head, or five in the backward
// pass. scaled_dot_product and cuDNN's operator take queries, keys and values as [b, heads, s, d],
// and the others as [b, s, heads, d]. All but scaled_dot_product also take [tokens, heads, d],
// where the sequences are joined end to end.
double attention(std::string_view op, const TensorShapes& inputs) {
  const bool backward = contains(op, "backward");
  const std::size_t queries = backward ? 1 : 0;  // behind the gradient of the result
  if (inputs.size() < queries + 2) return 0.0;
  const auto& keys = inputs[queries + 1];
  const bool heads_first =
      contains(op, "dot_product") || (contains(op, "_cudnn_attention") && keys.size() == 4);
  const std::size_t from_end = heads_first ? 2 : 3;
  if (keys.size() < from_end) return 0.0;
  double sequence = std::max(keys[keys.size() - from_end], 0.0);
  if (from_end == 3 && keys.size() == 3) {
    // The first list behind the values holds the start of each sequence and the end of the last, so
    // it has one entry more than there are sequences. These are taken to be equally long.
    for (std::size_t i = queries + 3; i < inputs.size(); ++i) {
      if (inputs[i].size() != 1) continue;
      sequence /= std::max(inputs[i][0] - 1.0, 1.0);
      break;
    }
  }
  return (backward ? 10.0 : 4.0) * product(inputs[queries]) * sequence;
}

// --- calls in an execution trace ---

// A call with more calls inside it than this never stands for them all. The limit bounds the work
// on files that were made to be deep.
constexpr std::size_t kMostInside = 1000;

// The calls inside one call that are kept so far.
struct Inside {
  std::vector<std::uint32_t> calls;
  bool any = false;   // whether it calls anything at all
  bool work = false;  // whether a product or a kernel is among them
};

bool only_prepares(const TorchCall& call) {
  return call.view || torch_is_view(call.name) || torch_allocates(call.name);
}

// Returns whether the calls inside read all arguments of a call and write all its results.
bool accounted_for(const TorchCall& call, const std::vector<TorchCall>& calls,
                   const std::vector<std::uint32_t>& inside) {
  std::unordered_set<double> read, written;  // storages
  bool computes = false;
  for (const std::uint32_t i : inside) {
    if (only_prepares(calls[i])) continue;
    computes = true;
    for (const TensorUse& use : calls[i].inputs) read.insert(use.storage);
    for (const TensorUse& use : calls[i].outputs) written.insert(use.storage);
  }
  std::unordered_set<double> given;
  for (const TensorUse& use : call.inputs) {
    if (use.elements <= 0.0) continue;
    given.insert(use.storage);
    if (computes && !read.contains(use.storage) && !written.contains(use.storage)) return false;
  }
  return std::all_of(call.outputs.begin(), call.outputs.end(), [&](const TensorUse& use) {
    return use.elements <= 0.0 || written.contains(use.storage) || given.contains(use.storage);
  });
}

// Returns whether a call that calls nothing does work. Scopes do none, nor do calls that only pass
// on their arguments, such as the gradient of a sum.
bool computes(const TorchCall& call) {
  if (call.inputs.empty() && call.outputs.empty()) return false;
  if (call.has_schema || call.kernel || torch_is_operator(call.name)) return true;
  return std::any_of(call.outputs.begin(), call.outputs.end(), [&](const TensorUse& output) {
    return std::none_of(call.inputs.begin(), call.inputs.end(),
                        [&](const TensorUse& input) { return input.id == output.id; });
  });
}

// Sorts calls by id, which rises with time, and returns the index of each id.
std::unordered_map<double, std::uint32_t> sort_by_id(std::vector<TorchCall>& calls) {
  std::stable_sort(calls.begin(), calls.end(),
                   [](const TorchCall& a, const TorchCall& b) { return a.id < b.id; });
  std::unordered_map<double, std::uint32_t> number_of;
  number_of.reserve(calls.size());
  for (std::uint32_t i = 0; i < calls.size(); ++i) number_of.emplace(calls[i].id, i);
  return number_of;
}

bool stands_for_all(const TorchCall& call, const std::vector<TorchCall>& calls,
                    const Inside& inside) {
  const bool scope = !call.has_schema && call.outputs.empty();
  if (scope || inside.work || inside.calls.size() > kMostInside) return false;
  if (torch_is_product(call.name)) return true;
  return !torch_allocates(call.name) && !accounted_for(call, calls, inside.calls);
}

}  // namespace

bool torch_is_view(std::string_view op) {
  constexpr std::string_view kViews[] = {
      "aten::view",      "aten::_unsafe_view",   "aten::reshape",    "aten::t",
      "aten::transpose", "aten::permute",        "aten::expand",     "aten::as_strided",
      "aten::slice",     "aten::select",         "aten::squeeze",    "aten::unsqueeze",
      "aten::detach",    "aten::alias",          "aten::split",      "aten::chunk",
      "aten::narrow",    "aten::unbind",         "aten::empty",      "aten::empty_strided",
      "aten::resize_",   "aten::_reshape_alias", "aten::as_strided_"};
  return std::find(std::begin(kViews), std::end(kViews), op) != std::end(kViews);
}

bool torch_is_operator(std::string_view name) {
  const std::size_t first = name.find("::");
  return first != std::string_view::npos && first == name.rfind("::");
}

std::string_view torch_scope_part(std::string_view name) {
  constexpr std::string_view kModule = "nn.Module: ";
  constexpr std::size_t kLongest = 200;  // bytes; every operator inside gets a copy
  if (name.size() > kLongest) name = name.substr(0, valid_utf8_prefix(name.substr(0, kLongest)));
  if (name.starts_with(kModule)) return name.substr(kModule.size());
  const bool empty = name.starts_with("[pytorch|") || name.starts_with("ProfilerStep") ||
                     contains(name, "::") || contains(name, "Backward");
  return empty ? std::string_view() : name;
}

bool torch_allocates(std::string_view op) {
  return op.starts_with("aten::empty") || op.starts_with("aten::new_empty") ||
         op.starts_with("aten::resize_") || op == "aten::set_";
}

bool torch_is_product(std::string_view op) {
  constexpr std::string_view kProducts[] = {"aten::mm",         "aten::bmm",
                                            "aten::mv",         "aten::dot",
                                            "aten::matmul",     "aten::addmm",
                                            "aten::addmv",      "aten::baddbmm",
                                            "aten::_scaled_mm", "aten::_int_mm",
                                            "aten::linear",     "aten::addmm_",
                                            "aten::baddbmm_",   "aten::_addmm_activation"};
  return std::find(std::begin(kProducts), std::end(kProducts), op) != std::end(kProducts) ||
         is_convolution(op) || is_attention(op);
}

double torch_flops(std::string_view op, const TensorShapes& inputs, double output_elements) {
  if (torch_is_view(op)) return 0.0;
  double flops = 0.0;
  if (op == "aten::mm" || op == "aten::bmm" || op == "aten::mv" || op == "aten::dot" ||
      op == "aten::matmul" || op == "aten::_scaled_mm" || op == "aten::_int_mm") {
    flops = matrix_product(inputs, 0);
  } else if (torch_first_operand(op) == 1) {
    flops = matrix_product(inputs, 1);
  } else if (op == "aten::linear") {  // the inputs are x [.., k] and weights [n, k]
    if (inputs.size() > 1 && inputs[1].size() == 2) {
      flops = 2.0 * product(inputs[0]) * std::max(inputs[1][0], 0.0);
    }
  } else if (contains(op, "convolution_backward")) {
    // The inputs are the result's gradient, the input and the weights. Computing the gradients of
    // the input and of the weights takes as much as a forward pass each.
    if (inputs.size() > 2 && !inputs[2].empty() && inputs[2][0] > 0.0) {
      flops = 4.0 * product(inputs[0]) * product(inputs[2]) / inputs[2][0];
    }
  } else if (is_convolution(op)) {
    // Every element of the result needs all weights of its channel.
    if (inputs.size() > 1 && !inputs[1].empty() && inputs[1][0] > 0.0) {
      flops = 2.0 * output_elements * product(inputs[1]) / inputs[1][0];
    }
  } else if (is_attention(op)) {
    flops = attention(op, inputs);
  }
  return flops > 0.0 ? flops : output_elements;
}

std::size_t torch_first_operand(std::string_view op) {
  constexpr std::string_view kAdding[] = {
      "aten::addmm",  "aten::baddbmm",  "aten::_addmm_activation",
      "aten::addmm_", "aten::baddbmm_", "aten::addmv"};
  return std::find(std::begin(kAdding), std::end(kAdding), op) != std::end(kAdding) ? 1 : 0;
}

namespace {

struct TorchType {
  std::string_view name;
  double bytes;
  std::optional<ElementType> type = std::nullopt;
};

// The first entry that is a part of the name holds.
constexpr TorchType kTypes[] = {{"complex<double>", 16.0},
                                {"complex<float>", 8.0},
                                {"double", 8.0, ElementType::kF64},
                                {"long", 8.0, ElementType::kI64},
                                {"int64", 8.0, ElementType::kI64},
                                {"int8", 1.0, ElementType::kI8},  // also qint8 and quint8
                                {"Half", 2.0, ElementType::kF16},
                                {"half", 2.0, ElementType::kF16},
                                {"BFloat16", 2.0, ElementType::kBf16},
                                {"short", 2.0, ElementType::kI16},
                                {"bool", 1.0, ElementType::kBool},
                                {"char", 1.0, ElementType::kI8},
                                {"Float8", 1.0, ElementType::kFp8},
                                {"float", 4.0, ElementType::kF32},
                                {"int", 4.0, ElementType::kI32}};
constexpr TorchType kOtherType{"", 4.0};

const TorchType& find_type(std::string_view name) {
  for (const TorchType& entry : kTypes) {
    if (contains(name, entry.name)) return entry;
  }
  return kOtherType;
}

}  // namespace

double torch_type_bytes(std::string_view type) {
  return find_type(type).bytes;
}

std::optional<ElementType> torch_element_type(std::string_view type) {
  return find_type(type).type;
}

// --- calls in an execution trace ---

TorchSchema parse_torch_schema(std::string_view schema) {
  TorchSchema parsed;
  const std::size_t arrow = schema.rfind("->");
  std::size_t at = schema.find('(');
  if (at == std::string_view::npos) return parsed;
  bool any_written = false;
  int depth = 0;
  for (std::size_t begin = at + 1; at < std::min(arrow, schema.size()); ++at) {
    const char c = schema[at];
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (!((c == ',' && depth == 1) || depth == 0)) continue;
    const std::string_view argument = schema.substr(begin, at - begin);
    begin = at + 1;
    // "*" is not an argument: it says that those after it are given by name.
    const bool is_mark = argument.find_first_not_of(' ') == argument.find('*');
    if (!is_mark) parsed.written.push_back(argument.find("!)") != std::string_view::npos);
    any_written = any_written || (!is_mark && parsed.written.back());
    if (depth == 0) break;
  }
  parsed.view = arrow != std::string_view::npos && !any_written &&
                schema.substr(arrow).find("Tensor(") != std::string_view::npos;
  return parsed;
}

std::vector<std::string> find_scopes(std::vector<TorchCall>& calls) {
  const auto number_of = sort_by_id(calls);
  std::vector<std::string> names(1);
  std::vector<std::size_t> levels(1, 0);
  std::vector<std::uint32_t> inside(calls.size(), 0);  // the scope of the calls inside a call
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    TorchCall& call = calls[i];
    const auto caller = number_of.find(call.parent);
    if (caller != number_of.end() && caller->second < i) call.scope = inside[caller->second];
    inside[i] = call.scope;
    const bool annotates = !call.has_schema && call.inputs.empty() && call.outputs.empty();
    const std::string_view part = annotates ? torch_scope_part(call.name) : std::string_view();
    if (part.empty() || levels[call.scope] == kMostScopes) continue;
    std::string name = names[call.scope];
    name.append(name.empty() ? "" : "/").append(part);
    inside[i] = static_cast<std::uint32_t>(names.size());
    names.push_back(std::move(name));
    levels.push_back(levels[call.scope] + 1);
  }
  return names;
}

void keep_work(std::vector<TorchCall>& calls) {
  const auto number_of = sort_by_id(calls);
  std::vector<Inside> inside(calls.size());
  std::vector<bool> kept(calls.size(), false);
  // A call begins before the calls inside it, so that going backwards those come first.
  for (auto i = static_cast<std::uint32_t>(calls.size()); i-- > 0;) {
    TorchCall& call = calls[i];
    Inside& below = inside[i];
    if (!below.any) {
      if (computes(call)) below.calls.push_back(i);
    } else if (stands_for_all(call, calls, below)) {
      call.view =
          call.view && std::all_of(below.calls.begin(), below.calls.end(),
                                   [&](std::uint32_t c) { return only_prepares(calls[c]); });
      call.own_micros = call.micros ? call.micros : call.own_micros;
      below.calls.assign(1, i);
    }
    below.work = below.work || (!below.calls.empty() && below.calls.back() == i &&
                                (call.kernel || torch_is_product(call.name)));
    const auto caller = number_of.find(call.parent);
    if (caller == number_of.end() || caller->second >= i) {
      for (const std::uint32_t c : below.calls) kept[c] = true;
      continue;
    }
    Inside& above = inside[caller->second];
    above.any = true;
    above.work = above.work || below.work;
    if (above.calls.size() < below.calls.size()) std::swap(above.calls, below.calls);
    above.calls.insert(above.calls.end(), below.calls.begin(), below.calls.end());
    below.calls = {};
  }
  std::size_t left = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (kept[i] && left != i) calls[left] = std::move(calls[i]);
    left += kept[i];
  }
  calls.resize(left);
}

}  // namespace doppler::formats
