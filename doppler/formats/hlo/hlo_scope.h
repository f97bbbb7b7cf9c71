// Where instructions belong in the model, by the names that frameworks give them
// (metadata={op_name="…"}). Pure functions; thread safe.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/hlo/hlo_module.h"

namespace doppler::formats {

// The text of op_name, as it stands; empty where there is none. Of a computation that has no name
// of its own, as fusions: its root's, else that of the last instruction with one.
std::string_view hlo_op_name(const HloInstruction& instruction);
std::string_view hlo_op_name(const HloComputation& computation);

// The name of an instruction in a computation that stands where a call of that name does. Names in
// computations either count from there or are complete, with the program's name in front.
std::string hlo_op_name_in_call(std::string_view call, std::string_view name);

// "jit(train_step)/jit(main)/jvp(Transformer)/layer_3/attn/dot_general" is in
// "Transformer/layer_3/attn": without the operation, the program, and what JAX did to functions.
// What belongs to the backward pass, transpose(jvp(Transformer))/…, is in
// "transpose/Transformer/…".
std::string hlo_scope(std::string_view op_name);

}  // namespace doppler::formats
