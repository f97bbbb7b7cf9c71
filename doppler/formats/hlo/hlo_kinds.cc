// How opcodes are treated; the flops of each are in hlo_costs.cc.
#include <string_view>

#include "doppler/formats/hlo/hlo_costs.h"
#include "doppler/formats/hlo/hlo_words.h"

namespace doppler::formats {
namespace {

// The halves of asynchronous operations that only wait: the work is in the start.
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
                                           "\"LayoutConstraint\"",
                                           "\"AwsNeuronTransferWithStaticRing\""};
  return is_in(target, kMarkers);
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
  // Starts, though they are not called so; their data is in front of a context and a token.
  if (operation == "send" || operation == "recv") return 0;
  // An all-reduce of several arrays gives a tuple of just these.
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

}  // namespace doppler::formats
