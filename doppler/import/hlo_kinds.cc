// How opcodes are treated; the flops of each are in hlo_costs.cc.
#include <algorithm>
#include <string_view>

#include "doppler/import/hlo_costs.h"

namespace doppler::import {
namespace {

template <std::size_t kCount>
bool is_in(std::string_view opcode, const std::string_view (&list)[kCount]) {
  return std::find(std::begin(list), std::end(list), opcode) != std::end(list);
}

// The halves of asynchronous operations that only wait: the work is in the start.
constexpr std::string_view kViews[] = {
    "bitcast", "bitcast-convert",      "reshape",     "broadcast",      "dynamic-reshape",
    "domain",  "optimization-barrier", "opt-barrier", "add-dependency", "set-dimension-size"};
constexpr std::string_view kGenerated[] = {"iota",      "partition-id", "replica-id",
                                           "after-all", "create-token", "get-dimension-size"};
constexpr std::string_view kCollectives[] = {
    "all-reduce",         "all-gather",           "all-to-all",       "reduce-scatter",
    "collective-permute", "collective-broadcast", "ragged-all-to-all"};
constexpr std::string_view kEffects[] = {"outfeed", "infeed",    "send",
                                         "recv",    "send-done", "recv-done"};
constexpr std::string_view kNeverFolded[] = {"rng",
                                             "rng-bit-generator",
                                             "rng-get-and-update-state",
                                             "custom-call",
                                             "while",
                                             "conditional",
                                             "fusion",
                                             "async-start"};

std::string_view without_suffix(std::string_view opcode, std::string_view suffix) {
  if (opcode.ends_with(suffix)) opcode.remove_suffix(suffix.size());
  return opcode;
}

// Custom calls that carry a sharding or a marker through the program.
bool is_marker(const HloInstruction& instruction) {
  const std::string_view target = instruction.attribute("custom_call_target");
  constexpr std::string_view kMarkers[] = {"\"Sharding\"",
                                           "\"SPMDFullToShardShape\"",
                                           "\"SPMDShardToFullShape\"",
                                           "\"MoveToHost\"",
                                           "\"MoveToDevice\"",
                                           "\"annotate_device_placement\"",
                                           "\"xla.sdy.FuncResultSharding\"",
                                           "\"LayoutConstraint\""};
  return is_in(target, kMarkers);
}

}  // namespace

bool hlo_is_collective(std::string_view opcode) {
  return is_in(without_suffix(opcode, "-start"), kCollectives);
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
  if (opcode.ends_with("-done") && !is_in(opcode, kEffects)) return HloKind::kView;
  if (opcode == "async-update") return HloKind::kView;
  if (opcode == "custom-call" && is_marker(instruction)) return HloKind::kView;
  return HloKind::kWork;
}

bool hlo_has_effect(const HloInstruction& instruction) {
  return is_in(instruction.opcode, kEffects) ||
         instruction.attribute("custom_call_has_side_effect") == "true";
}

bool hlo_foldable(const HloInstruction& instruction) {
  return !is_in(instruction.opcode, kNeverFolded) && !hlo_has_effect(instruction) &&
         !hlo_is_collective(instruction.opcode);
}

}  // namespace doppler::import
