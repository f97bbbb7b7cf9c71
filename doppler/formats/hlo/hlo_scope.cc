#include "doppler/formats/hlo/hlo_scope.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "doppler/base/utf8.h"
#include "doppler/formats/hlo/hlo_words.h"

namespace doppler::formats {
namespace {

// Wrap a function's name: "vmap(attention)".
constexpr std::string_view kTransforms[] = {
    "jit",       "pjit",  "pmap",       "xmap",       "vmap",       "jvp",      "transpose",
    "linearize", "remat", "checkpoint", "custom_jvp", "custom_vjp", "shard_map"};
constexpr std::string_view kPrograms[] = {"jit(", "pjit(", "pmap(", "xmap("};
// How JAX calls functions, which says nothing about the model.
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

// Bytes of one name that count, and of calls around it: every instruction inside gets them.
constexpr std::size_t kLongestName = 1000;

// Up to the first slash outside parentheses.
std::string_view first_part(std::string_view name) {
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '(') ++depth;
    if (name[i] == ')') --depth;
    if (name[i] == '/' && depth <= 0) return name.substr(0, i);
  }
  return name;
}

// The program itself is in every name: jit(train_step), and jit(main) in it.
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
  // Where the compiler has made one instruction of several, their names stand in a row.
  op_name = without_program(op_name.substr(0, op_name.find(';')));
  std::string scope, part;
  bool backward = false, in_loop = false;
  std::string open;        // closing brackets to come; '-' for those of transformations
  std::size_t around = 0;  // of them, those of the part itself
  const auto end_part = [&] {
    const bool of_loop = in_loop && (part == "body" || part == "cond");
    if (part.starts_with("branch_") && part.ends_with("_fun")) {  // in "cond"
      const std::size_t slash = scope.rfind('/');
      const std::size_t last = slash == std::string::npos ? 0 : slash + 1;
      if (scope.substr(last) == "cond") scope.resize(last > 0 ? last - 1 : 0);
      part.clear();
      return;
    }
    in_loop = part == "while";
    // An einsum's equation is a part of the operation.
    if (!part.empty() && !of_loop && !is_in(part, kCalls) && part.find("->") == std::string::npos) {
      scope.append(scope.empty() ? "" : "/").append(part);
    }
    part.clear();
  };
  for (const char c : op_name) {
    if (c == '\\') continue;  // before quotes
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
  // What is left is the operation itself.
  if (!backward) return scope;
  return scope.empty() ? "transpose" : "transpose/" + scope;
}

}  // namespace doppler::formats
