// What operators of PyTorch cost, by their names and shapes, for traces that did not measure it.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace doppler::formats {

// Of each argument; empty for those that are no tensors.
using TensorShapes = std::vector<std::vector<double>>;

// Whether the result only is another way to look at an argument, so that nothing is moved.
bool torch_is_view(std::string_view op);

// Whether an event is called like an operator, "library::name": scopes, annotations and steps of
// autograd ("autograd::engine::…", "AddmmBackward0") are not.
bool torch_is_operator(std::string_view name);
// What an annotation or module adds to a scope: "nn.Module: Linear_0" is "Linear_0" there. Empty
// for those that say nothing of the model, as steps of the profiler and of autograd.
std::string_view torch_scope_part(std::string_view name);
// Deeper than this scopes keep the name so far.
inline constexpr std::size_t kMostScopes = 16;
// Whether it only sets memory aside.
bool torch_allocates(std::string_view op);
// Products, convolutions and attention: operators whose work is known by their names.
bool torch_is_product(std::string_view op);

// Products, convolutions and attention by their shapes; other operators one for each element of
// their results. 0 for views, which move nothing.
double torch_flops(std::string_view op, const TensorShapes& inputs, double output_elements);

// The bytes of an element, by the name of its type ("float", "c10::Half", "long int", …); nothing
// known: 4.
double torch_type_bytes(std::string_view type);

}  // namespace doppler::formats
