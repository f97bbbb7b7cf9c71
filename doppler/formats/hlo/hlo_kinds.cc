// The way in which each opcode is treated, the flops of convolutions, and calls between
// computations with the trip counts of loops. The flops of other opcodes are in hlo_costs.cc.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "doppler/formats/hlo/hlo_costs.h"
#include "doppler/formats/hlo/hlo_module.h"
#include "doppler/formats/work_list.h"

namespace doppler::formats {

namespace {

constexpr std::string_view kViews[] = {
    "bitcast", "bitcast-convert",      "reshape",     "broadcast",      "dynamic-reshape",
    "domain",  "optimization-barrier", "opt-barrier", "add-dependency", "set-dimension-size"};
constexpr std::string_view kGenerated[] = {"iota",      "partition-id", "replica-id",
                                           "after-all", "create-token", "get-dimension-size"};
constexpr std::string_view kCollectives[] = {
    "all-reduce",         "all-gather",           "all-to-all",       "reduce-scatter",
    "collective-permute", "collective-broadcast", "ragged-all-to-all"};
constexpr std::string_view kEffects[] = {"outfeed", "infeed", "send", "recv"};
constexpr std::string_view kNeverFolded[] = {"rng",
                                             "rng-bit-generator",
                                             "rng-get-and-update-state",
                                             "custom-call",
                                             "while",
                                             "conditional",
                                             "fusion",
                                             "async"};

constexpr int kMaxCallDepth = 200;  // of computations that call each other

// Returns whether a custom call only passes its operand on, with a sharding or another annotation.
bool is_marker(const HloInstruction& instruction) {
  const std::string_view target = instruction.attribute("custom_call_target");
  constexpr std::string_view kMarkers[] = {"\"Sharding\"",
                                           "\"SPMDFullToShardShape\"",
                                           "\"SPMDShardToFullShape\"",
                                           "\"MoveToHost\"",
                                           "\"MoveToDevice\"",
                                           "\"annotate_device_placement\"",
                                           "\"xla.sdy.FuncResultSharding\"",
                                           "\"LayoutConstraint\"",
                                           "\"AwsNeuronTransferWithStaticRing\""};
  return is_in(target, kMarkers);
}

// --- convolutions ---

// The attribute dim_labels, such as "b01f_01io->b01f": a letter for the meaning of each dimension
// of the input, the kernel and the output.
struct Labels {
  std::string_view input, kernel, out;
};

Labels labels_of(const HloInstruction& instruction) {
  const std::string_view text = instruction.attribute("dim_labels");
  const std::size_t kernel = text.find('_'), out = text.find("->");
  if (kernel == std::string_view::npos || out == std::string_view::npos || out < kernel) return {};
  return {text.substr(0, kernel), text.substr(kernel + 1, out - kernel - 1), text.substr(out + 2)};
}

// Returns the size of the dimension with this label, or 1 if there is none.
double size_of(const HloShape& shape, std::string_view labels, char label) {
  const std::size_t at = labels.find(label);
  return at < shape.dims.size() ? static_cast<double>(shape.dims[at]) : 1.0;
}

struct HloWindow {
  double size, stride, low_padding, input_dilation, kernel_dilation;
};

std::vector<HloWindow> windows_of(const HloInstruction& instruction) {
  const std::string_view text = instruction.attribute("window");
  const auto numbers = [&](std::string_view key) { return hlo_integers(hlo_field(text, key)); };
  const auto sizes = numbers("size"), strides = numbers("stride"), pads = numbers("pad"),
             input_dilations = numbers("lhs_dilate"), kernel_dilations = numbers("rhs_dilate");
  const auto at = [](const std::vector<std::int64_t>& list, std::size_t i, std::int64_t absent) {
    return static_cast<double>(i < list.size() ? list[i] : absent);
  };
  std::vector<HloWindow> windows;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    windows.push_back({std::max(at(sizes, i, 1), 1.0), std::max(at(strides, i, 1), 1.0),
                       at(pads, 2 * i, 0), std::max(at(input_dilations, i, 1), 1.0),
                       std::max(at(kernel_dilations, i, 1), 1.0)});
  }
  return windows;
}

// Returns, along one dimension, the number of pairs of an output and a tap of the window that meet
// an element of the input. For windows beyond the limits, it is estimated as if no tap met padding.
double meetings(const HloWindow& window, double input, double out) {
  constexpr double kMostLines = 1e4, kMostPairs = 1e4;
  double count = 0.0;
  if (window.input_dilation > 1.0) {
    if (out * window.size > kMostPairs) {
      return out * std::max(window.size / window.input_dilation, 1.0);
    }
    for (double o = 0.0; o < out; ++o) {
      for (double tap = 0.0; tap < window.size; ++tap) {
        const double place = o * window.stride + tap * window.kernel_dilation - window.low_padding;
        if (place < 0.0 || place >= input * window.input_dilation) continue;
        count += std::fmod(place, window.input_dilation) == 0.0 ? 1.0 : 0.0;
      }
    }
    return count;
  }
  // An output and a tap, numbered a and b in either order, meet the place
  // a * step_a + b * step_b - padding. For each a, the places inside the input are a range of b.
  double number_a = out, step_a = window.stride;
  double number_b = window.size, step_b = window.kernel_dilation;
  if (number_a > number_b) {
    std::swap(number_a, number_b);
    std::swap(step_a, step_b);
  }
  if (number_a > kMostLines) return out * window.size;
  for (double a = 0.0; a < number_a; ++a) {
    const double before = window.low_padding - a * step_a;
    const double first = std::max(0.0, std::ceil(before / step_b));
    const double last = std::min(number_b - 1.0, std::floor((input - 1.0 + before) / step_b));
    count += std::max(0.0, last - first + 1.0);
  }
  return count;
}

// Returns the number of taps of the kernel's window.
double taps_of(const HloInstruction& instruction) {
  double taps = 1.0;
  for (const HloWindow& window : windows_of(instruction)) taps *= window.size;
  return taps;
}

// Returns into how many groups the channels, or the images, of a convolution are divided.
double groups_of(const HloInstruction& instruction) {
  double groups = 1.0;
  for (const std::string_view key : {"feature_group_count", "batch_group_count"}) {
    const auto numbers = hlo_integers(instruction.attribute(key));
    if (numbers.size() == 1) groups *= std::max(static_cast<double>(numbers[0]), 1.0);
  }
  return groups;
}

}  // namespace

std::string_view hlo_without_phase(std::string_view opcode) {
  for (const std::string_view phase : {"-start", "-update", "-done"}) {
    if (opcode.ends_with(phase)) return opcode.substr(0, opcode.size() - phase.size());
  }
  return opcode;
}

std::optional<std::size_t> hlo_async_result(std::string_view opcode, const HloShape& shape) {
  if (!shape.tuple || shape.elements.size() < 2) return std::nullopt;
  const std::string_view operation = hlo_without_phase(opcode);
  // These are starts although their names do not say so. Their tuple has the data first, then a
  // context and a token.
  if (operation == "send" || operation == "recv") return 0;
  // The tuple of an all-reduce of several arrays holds only its results.
  if (operation == opcode || operation == "all-reduce") return std::nullopt;
  return operation == "copy" ? 0 : 1;
}

bool hlo_is_collective(std::string_view opcode) {
  return is_in(hlo_without_phase(opcode), kCollectives);
}

HloKind hlo_kind(const HloInstruction& instruction) {
  const std::string_view opcode = instruction.opcode;
  if (opcode == "parameter") return HloKind::kParameter;
  if (opcode == "constant") return HloKind::kConstant;
  if (opcode == "tuple") return HloKind::kTuple;
  if (opcode == "get-tuple-element") return HloKind::kElement;
  if (opcode == "call") return HloKind::kCall;
  if (is_in(opcode, kGenerated)) return HloKind::kGenerated;
  if (is_in(opcode, kViews)) return HloKind::kView;
  // The later parts of asynchronous operations only wait. The work is counted at the start.
  if (opcode.ends_with("-done") && !is_in(opcode, kEffects)) return HloKind::kView;
  if (opcode.ends_with("-update") && hlo_without_phase(opcode) != opcode) return HloKind::kView;
  if (opcode == "custom-call" && is_marker(instruction)) return HloKind::kView;
  return HloKind::kWork;
}

bool hlo_has_effect(const HloInstruction& instruction) {
  return is_in(instruction.opcode, kEffects) ||
         instruction.attribute("custom_call_has_side_effect") == "true";
}

bool hlo_foldable(const HloInstruction& instruction) {
  return !is_in(hlo_without_phase(instruction.opcode), kNeverFolded) &&
         !hlo_has_effect(instruction) && !hlo_is_collective(instruction.opcode);
}

// --- convolutions ---

double hlo_convolution_flops(const HloInstruction& instruction, const HloShape& input,
                             const HloShape& kernel, const HloShape& out) {
  const Labels labels = labels_of(instruction);
  const std::vector<HloWindow> windows = windows_of(instruction);
  double products = size_of(kernel, labels.kernel, 'i') * size_of(out, labels.out, 'b') *
                    size_of(out, labels.out, 'f');
  for (std::size_t d = 0; d < windows.size() && d < 10; ++d) {
    const char label = static_cast<char>('0' + d);
    products *=
        meetings(windows[d], size_of(input, labels.input, label), size_of(out, labels.out, label));
  }
  return 2.0 * products;
}

double hlo_convolution_gradient_flops(const HloInstruction& instruction, const HloShape& other,
                                      const HloShape& kernel) {
  return 2.0 * other.element_count() * taps_of(instruction) *
         size_of(kernel, labels_of(instruction).kernel, 'i');
}

kernel::Work hlo_convolution_work(const HloInstruction& instruction, const HloShape& input,
                                  const HloShape& kernel, const HloShape& out) {
  const Labels labels = labels_of(instruction);
  const std::vector<HloWindow> windows = windows_of(instruction);
  const double groups = groups_of(instruction);
  double batch = groups, rows = size_of(out, labels.out, 'b'),
         depth = size_of(kernel, labels.kernel, 'i');
  bool slides = false;
  for (std::size_t d = 0; d < windows.size() && d < 10; ++d) {
    const char label = static_cast<char>('0' + d);
    const double size = size_of(out, labels.out, label);
    const double met = meetings(windows[d], size_of(input, labels.input, label), size);
    // If each place of the result meets one tap, a different one for each, the dimension counts the
    // products of a batch.
    const bool is_batch = size > 1.0 && windows[d].size >= size && met <= size;
    (is_batch ? batch : rows) *= size;
    depth *= met / size;
    slides |= !is_batch && size > 1.0;
  }
  const double columns = size_of(out, labels.out, 'f') / groups;
  return slides ? convolution_of(batch, rows, columns, depth)
                : product_of(batch, rows, columns, depth);
}

kernel::Work hlo_input_gradient_work(const HloInstruction& instruction, const HloShape& other,
                                     const HloShape& kernel, const HloShape& out) {
  const double groups = groups_of(instruction);
  const double columns = size_of(kernel, labels_of(instruction).kernel, 'i');
  const double rows = out.element_count() / (groups * columns);
  const double flops = hlo_convolution_gradient_flops(instruction, other, kernel);
  return convolution_of(groups, rows, columns, flops / (2.0 * groups * rows * columns));
}

kernel::Work hlo_kernel_gradient_work(const HloInstruction& instruction, const HloShape& other,
                                      const HloShape& kernel) {
  const std::string_view labels = labels_of(instruction).kernel;
  const double groups = groups_of(instruction);
  const double channels = size_of(kernel, labels, 'o');
  return convolution_of(groups, taps_of(instruction) * size_of(kernel, labels, 'i'),
                        channels / groups, other.element_count() / channels);
}

// --- calls between computations, and how many times loops run ---

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
    // The value is "%name", "name" or "{%name, %name}".
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

// Throws InputError if an instruction calls a computation that does not exist, if a computation
// calls itself, or if calls are nested too deep for the functions that recurse over them.
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
  // Optimised programs wrap the comparison in a fusion, of which the bound is an operand.
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
