// Who calls whom, and how often loops run.
#include <fmt/format.h>

#include <algorithm>

#include "doppler/formats/hlo/hlo_costs.h"
#include "doppler/formats/hlo/hlo_words.h"

namespace doppler::formats {
namespace {

constexpr int kMaxCallDepth = 200;

}  // namespace

std::vector<std::uint32_t> HloCosts::callees(const HloInstruction& instruction) const {
  constexpr std::string_view kKeys[] = {"calls",
                                        "to_apply",
                                        "body",
                                        "condition",
                                        "true_computation",
                                        "false_computation",
                                        "branch_computations",
                                        "called_computations",
                                        "select",
                                        "scatter"};
  std::vector<std::uint32_t> found;
  for (const auto& [key, value] : instruction.attributes) {
    if (!is_in(key, kKeys)) continue;
    // "%name", "name" or "{%name, %name}"
    std::size_t at = 0;
    while (at < value.size()) {
      const std::size_t begin = value.find_first_not_of("{}, %\"\n\t", at);
      if (begin == std::string_view::npos) break;
      const std::size_t end = std::min(value.find_first_of("{}, %\"\n\t", begin), value.size());
      const auto computation = by_name_.find(value.substr(begin, end - begin));
      if (computation == by_name_.end()) {
        fail(instruction,
             fmt::format("there is no computation '{}'", value.substr(begin, end - begin)));
      }
      found.push_back(computation->second);
      at = end;
    }
  }
  return found;
}

// Every call leads to a computation that is there, and none comes back. The depth is limited, so
// that what recurses over calls is safe.
void HloCosts::check_calls() const {
  struct Visit {
    std::uint32_t computation;
    std::vector<std::uint32_t> next;
  };
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(module_.computations.size(), State::kNew);
  std::vector<int> depth(module_.computations.size(), 0);
  const auto visit = [&](std::uint32_t c) {
    Visit entry{c, {}};
    for (const HloInstruction& instruction : module_.computations[c].instructions) {
      for (const std::uint32_t called : callees(instruction)) {
        if (states[called] == State::kOpen) {
          fail(instruction,
               fmt::format("computation '{}' calls itself", module_.computations[called].name));
        }
        entry.next.push_back(called);
      }
    }
    return entry;
  };
  for (std::uint32_t first = 0; first < states.size(); ++first) {
    if (states[first] != State::kNew) continue;
    states[first] = State::kOpen;
    std::vector<Visit> stack{visit(first)};
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next.empty()) {
        states[top.computation] = State::kDone;
        const int own = depth[top.computation] + 1;
        const std::uint32_t closed = top.computation;
        stack.pop_back();
        if (!stack.empty()) {
          int& caller = depth[stack.back().computation];
          caller = std::max(caller, own);
        }
        if (own > kMaxCallDepth) {
          fail(module_.computations[closed].instructions.front(),
               fmt::format("calls nested deeper than {}", kMaxCallDepth));
        }
        continue;
      }
      const std::uint32_t called = top.next.back();
      top.next.pop_back();
      if (states[called] == State::kOpen) {
        fail(module_.computations[top.computation].instructions.front(),
             fmt::format("computation '{}' calls itself", module_.computations[called].name));
      }
      if (states[called] == State::kDone) {
        int& caller = depth[top.computation];
        caller = std::max(caller, depth[called] + 1);
        continue;
      }
      states[called] = State::kOpen;
      stack.push_back(visit(called));
    }
  }
}

const HloComputation* HloCosts::callee(const HloInstruction& instruction,
                                       std::string_view key) const {
  std::string_view name = instruction.attribute(key);
  if (name.starts_with('%')) name.remove_prefix(1);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &module_.computations[found->second];
}

std::optional<double> HloCosts::trip_count(const HloInstruction& loop) const {
  const std::string_view noted = loop.attribute("backend_config");
  if (const std::size_t at = noted.find("known_trip_count"); at != std::string_view::npos) {
    const auto numbers = hlo_integers(noted.substr(at, 60));
    if (!numbers.empty() && numbers[0] >= 0) return static_cast<double>(numbers[0]);
  }
  const HloComputation* condition = callee(loop, "condition");
  if (condition == nullptr) return std::nullopt;
  const HloInstruction* test = &condition->instructions[condition->root];
  // Optimised programs wrap the comparison in a fusion, the bound outside it.
  const bool wrapped = test->opcode == "fusion";
  const bool compares = test->opcode == "compare" && (test->attribute("direction") == "LT" ||
                                                      test->attribute("direction") == "LE" ||
                                                      test->attribute("direction") == "NE");
  if (!compares && !wrapped) return std::nullopt;
  for (const std::uint32_t operand : test->operands) {
    const HloInstruction& bound = condition->instructions[operand];
    if (bound.opcode != "constant" || !bound.shape.dims.empty()) continue;
    const auto number = hlo_integers(bound.arguments);
    if (number.size() != 1 || number[0] < 0) continue;
    return static_cast<double>(number[0]) + (test->attribute("direction") == "LE" ? 1.0 : 0.0);
  }
  return std::nullopt;
}

}  // namespace doppler::formats
