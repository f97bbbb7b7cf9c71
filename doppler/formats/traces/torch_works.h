// What operators of PyTorch compute, by the shapes and types of their arguments. Pure functions, so
// safe to call from several threads.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "doppler/base/element_type.h"
#include "doppler/formats/traces/torch_ops.h"
#include "doppler/kernel/work.h"

namespace doppler::formats {

// The element type of each argument; nothing for arguments that are not tensors and for types that
// are not known.
using TensorTypes = std::vector<std::optional<ElementType>>;

// Returns the element types in the name of an argument's type, one for each tensor in it: f32 for
// "Tensor(float)", f32 and f16 for "GenericList[Tensor(float),Tensor(c10::Half)]".
TensorTypes torch_types_in(std::string_view type);

// Return the shape, and the type of the first tensor, of each argument in lists as traces print
// them:
// {{512, 1024}, {}} for "[[512, 1024], []]", {f32, none} for "['Tensor(float)', 'Int']". The shapes
// of arguments that are lists themselves are empty.
TensorShapes printed_shapes(std::string_view text);
TensorTypes printed_types(std::string_view text);

// Returns the kernels that an operator runs, each with its class and the flops of torch_flops(),
// and without bytes: two for the gradients of a convolution, for other operators one. Products and
// convolutions have their sizes and type; softmax and normalisations of rows have their sizes.
std::vector<kernel::Work> torch_works(std::string_view op, const TensorShapes& inputs,
                                      const TensorTypes& types, double output_elements);

// Completes the works of a node that reads and writes this many bytes: all have an equal part.
// Works with numbers that are too large for a graph are removed.
void share_traffic(std::vector<kernel::Work>& works, double bytes_read, double bytes_written);

// Removes what the graph says anyway of a node that has these flops and bytes itself: those of a
// single work, and all of it if its class is all that is known and the operator's name gives it.
void remove_what_is_known(std::vector<kernel::Work>& works, std::string_view op);

}  // namespace doppler::formats
