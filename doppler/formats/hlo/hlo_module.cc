#include "doppler/formats/hlo/hlo_module.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "doppler/base/text.h"
#include "doppler/formats/hlo/hlo.h"

namespace doppler::formats {

double HloShape::element_count() const {
  double count = 1.0;
  for (const std::int64_t size : dims) count *= static_cast<double>(size);
  return count;
}

double HloShape::bytes() const {
  if (!tuple) return std::ceil(element_count() * bits / 8.0);
  double sum = 0.0;
  for (const HloShape& element : elements) sum += element.bytes();
  return sum;
}

std::size_t HloShape::leaf_count() const {
  if (!tuple) return 1;
  std::size_t count = 0;
  for (const HloShape& element : elements) count += element.leaf_count();
  return count;
}

void HloShape::append_leaves(std::vector<const HloShape*>& leaves) const {
  if (!tuple) leaves.push_back(this);
  for (const HloShape& element : elements) element.append_leaves(leaves);
}

std::string_view HloInstruction::attribute(std::string_view key) const {
  for (const auto& [attribute_key, value] : attributes) {
    if (attribute_key == key) return value;
  }
  return {};
}

std::vector<std::int64_t> hlo_integers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const bool negative = *at == '-' && at + 1 < end && at[1] >= '0' && at[1] <= '9';
    if (!negative && (*at < '0' || *at > '9')) {
      ++at;
      continue;
    }
    std::int64_t number = 0;
    const auto result = std::from_chars(at, end, number);
    if (result.ec == std::errc::result_out_of_range) {
      number = std::numeric_limits<std::int64_t>::max();
    }
    numbers.push_back(number);
    at = result.ptr;
  }
  return numbers;
}

std::string_view hlo_field(std::string_view attribute, std::string_view key) {
  std::size_t at = 0;
  while ((at = attribute.find(key, at)) != std::string_view::npos) {
    const std::size_t after = at + key.size();
    const bool starts = at == 0 || attribute[at - 1] == '{' || attribute[at - 1] == ' ';
    if (starts && after < attribute.size() && attribute[after] == '=') {
      const std::size_t end = attribute.find_first_of(" }", after);
      return attribute.substr(after + 1, std::min(end, attribute.size()) - after - 1);
    }
    at = after;
  }
  return {};
}

namespace {

// --- other forms ---

enum class Form { kText, kMlir, kProtobuf, kUnknown };

std::string_view without_comments(std::string_view text) {
  while (text.starts_with("//")) {
    text.remove_prefix(std::min(text.find('\n'), text.size()));
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  }
  return text;
}

bool is_mlir(std::string_view text) {
  if (text.starts_with("ML\xefR")) return true;  // bytecode
  if (!text.starts_with("module") && !text.starts_with("func.func") && !text.starts_with('#')) {
    return false;
  }
  constexpr std::size_t kFar = 1 << 16;
  text = text.substr(0, kFar);
  return text.find("stablehlo.") != std::string_view::npos ||
         text.find("mhlo.") != std::string_view::npos;
}

// Returns whether the bytes begin with a field of this number that is a printable name, and removes
// that field.
bool take_name(std::string_view& bytes, char field) {
  constexpr std::size_t kLongestName = 127;  // the largest length that is encoded in one byte
  const char tag = static_cast<char>(field << 3 | 2);
  if (bytes.size() < 2 || bytes[0] != tag) return false;
  const auto length = static_cast<std::size_t>(static_cast<unsigned char>(bytes[1]));
  if (length == 0 || length > kLongestName || bytes.size() < 2 + length) return false;
  const std::string_view name = bytes.substr(2, length);
  bytes.remove_prefix(2 + length);
  return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

// Returns whether the bytes begin as an HloModuleProto does, with the module's name, the entry's
// name and a computation, or as an HloProto does, whose first field is such a module.
bool is_protobuf(std::string_view bytes) {
  const auto is_module = [](std::string_view module) {
    return take_name(module, 1) && take_name(module, 2) && module.starts_with('\x1a');
  };
  if (is_module(bytes)) return true;
  if (!bytes.starts_with('\x0a')) return false;
  const std::size_t longest = std::min<std::size_t>(bytes.size(), 11);
  for (std::size_t i = 1; i < longest; ++i) {  // skips the length, seven bits in each byte
    if ((static_cast<unsigned char>(bytes[i]) & 0x80u) == 0) return is_module(bytes.substr(i + 1));
  }
  return false;
}

Form form_of(const Content& content) {
  const std::string_view text = without_comments(content.text);
  if (text.starts_with("HloModule")) return Form::kText;
  if (is_mlir(text)) return Form::kMlir;
  return is_protobuf(content.bytes) ? Form::kProtobuf : Form::kUnknown;
}

// --- scopes ---

// Transformations of JAX, which wrap the name of a function, as in "vmap(attention)".
constexpr std::string_view kTransforms[] = {
    "jit",       "pjit",  "pmap",       "xmap",       "vmap",       "jvp",      "transpose",
    "linearize", "remat", "checkpoint", "custom_jvp", "custom_vjp", "shard_map"};
constexpr std::string_view kPrograms[] = {"jit(", "pjit(", "pmap(", "xmap("};
// Names of JAX's ways to call functions, which say nothing about the model.
constexpr std::string_view kCalls[] = {"while",
                                       "closed_call",
                                       "core_call",
                                       "core_closed_call",
                                       "checkpoint",
                                       "remat",
                                       "remat2",
                                       "rematted_computation",
                                       "custom_jvp_call",
                                       "custom_vjp_call",
                                       "custom_vjp_call_jaxpr",
                                       "pjit"};

// The length in bytes to which names are cut, and beyond which the name of a call is not extended.
// Names are limited because every instruction inside a call gets a copy of the call's name.
constexpr std::size_t kLongestName = 1000;

// Returns the name up to the first slash outside parentheses.
std::string_view first_part(std::string_view name) {
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '(') ++depth;
    if (name[i] == ')') --depth;
    if (name[i] == '/' && depth <= 0) return name.substr(0, i);
  }
  return name;
}

// Removes the program, which is in every name: jit(train_step), and jit(main) in it.
std::string_view without_program(std::string_view name) {
  const std::string_view first = first_part(name);
  const bool is_program =
      std::any_of(std::begin(kPrograms), std::end(kPrograms),
                  [&](std::string_view word) { return first.starts_with(word); });
  if (!is_program || first.size() == name.size()) return name;
  name.remove_prefix(first.size() + 1);
  for (const std::string_view main : {"jit(main)/", "pjit(main)/"}) {
    if (name.starts_with(main)) name.remove_prefix(main.size());
  }
  return name;
}

}  // namespace

// --- other forms ---

bool is_hlo(const Content& content) {
  return form_of(content) != Form::kUnknown;
}

void refuse_other_hlo(const std::string& file, std::string_view bytes) {
  const Form form = form_of(Content(bytes));
  if (form == Form::kMlir) {
    fail_at_offset(file, bytes, 0,
                   "this is StableHLO or MHLO (MLIR), which is not read; JAX gives HLO as text by "
                   "jit(f).lower(…).compile().as_text(), others by xla-translate "
                   "--stablehlo-to-hlo-text");
  }
  if (form == Form::kProtobuf) {
    fail_at_offset(file, bytes, 0,
                   "this is HLO as a protocol buffer, which is not read; dump it as text "
                   "(XLA_FLAGS=--xla_dump_hlo_as_text, or hlo-opt on it)");
  }
}

// --- scopes ---

std::string_view hlo_op_name(const HloInstruction& instruction) {
  constexpr std::string_view kKey = "op_name=\"";
  std::string_view text = instruction.attribute("metadata");
  const std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + kKey.size());
  std::size_t end = 0;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2u : 1u;
  text = text.substr(0, std::min(end, text.size()));
  return text.substr(0, valid_utf8_prefix(text.substr(0, kLongestName)));
}

std::string_view hlo_op_name(const HloComputation& computation) {
  std::string_view name = hlo_op_name(computation.instructions[computation.root]);
  for (std::size_t i = computation.instructions.size(); name.empty() && i-- > 0;) {
    name = hlo_op_name(computation.instructions[i]);
  }
  return name;
}

std::string hlo_op_name_in_call(std::string_view call, std::string_view name) {
  if (call.empty() || name.empty()) return std::string(name.empty() ? call : name);
  if (first_part(call) == first_part(name)) return std::string(name);
  if (call.size() > kLongestName) return std::string(call);
  return std::string(call).append("/").append(name);
}

std::string hlo_scope(std::string_view op_name) {
  // If the compiler has made one instruction of several, their names are joined by ';'.
  op_name = without_program(op_name.substr(0, op_name.find(';')));
  std::string scope, part;
  bool backward = false, in_loop = false;
  std::string open;        // the closing brackets to come, with '-' for that of a transformation
  std::size_t around = 0;  // the number of brackets in `open` that belong to the part itself
  const auto end_part = [&] {
    const bool of_loop = in_loop && (part == "body" || part == "cond");
    if (part.starts_with("branch_") && part.ends_with("_fun")) {  // follows "cond", as its branch
      const std::size_t slash = scope.rfind('/');
      const std::size_t last = slash == std::string::npos ? 0 : slash + 1;
      if (scope.substr(last) == "cond") scope.resize(last > 0 ? last - 1 : 0);
      part.clear();
      return;
    }
    in_loop = part == "while";
    // An einsum's equation belongs to the operation, not to the scope.
    if (!part.empty() && !of_loop && !is_in(part, kCalls) && part.find("->") == std::string::npos) {
      scope.append(scope.empty() ? "" : "/").append(part);
    }
    part.clear();
  };
  for (const char c : op_name) {
    if (c == '\\') continue;  // escapes a quote
    if (c == '/' && around == 0) {
      end_part();
    } else if (c == '(' && is_in(part, kTransforms)) {
      backward |= part == "transpose";
      part.clear();
      open.push_back('-');
    } else if (c == ')' && open.ends_with('-')) {
      open.pop_back();
    } else {
      if (c == '(' || c == '[') {
        open.push_back(c == '(' ? ')' : ']');
        ++around;
      } else if ((c == ')' || c == ']') && open.ends_with(c)) {
        open.pop_back();
        --around;
      }
      part.push_back(c);
    }
  }
  // The last part is not added, because it is the operation itself.
  if (!backward) return scope;
  return scope.empty() ? "transpose" : "transpose/" + scope;
}

}  // namespace doppler::formats
