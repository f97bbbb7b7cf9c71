#include "doppler/formats/torch/torch_calls.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "doppler/formats/torch/torch_ops.h"

namespace doppler::formats {
namespace {

// A call with more than this inside only calls others; bounds the work on files made to be deep.
constexpr std::size_t kMostInside = 1000;

// The calls below one that remain, so far.
struct Inside {
  std::vector<std::uint32_t> calls;
  bool any = false;   // it calls something at all
  bool work = false;  // a product or a kernel is among them
};

bool only_prepares(const TorchCall& call) {
  return call.view || torch_is_view(call.name) || torch_allocates(call.name);
}

// Whether what it calls reads all its arguments and writes all its results.
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

// A node of the graph where it calls nothing: a scope computes nothing, nor does what hands on its
// arguments, as the gradient of a sum.
bool computes(const TorchCall& call) {
  if (call.inputs.empty() && call.outputs.empty()) return false;
  if (call.has_schema || call.kernel || torch_is_operator(call.name)) return true;
  return std::any_of(call.outputs.begin(), call.outputs.end(), [&](const TensorUse& output) {
    return std::none_of(call.inputs.begin(), call.inputs.end(),
                        [&](const TensorUse& input) { return input.id == output.id; });
  });
}

// Sorts by id, which rise with time, and gives the place of each.
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
    const bool is_mark = argument.find_first_not_of(' ') == argument.find('*');  // "*": by name
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
  std::vector<std::uint32_t> inside(calls.size(), 0);  // the scope of what a call calls
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
  // A call begins before those that it makes, so that from the last on these come first.
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
