// Operators and calls of PyTorch, for the readers of its traces: what operators cost by their names
// and shapes, where a trace did not measure it, and which of the nested calls in an execution trace
// do the work. Pure functions and plain values, so safe to use from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doppler/base/element_type.h"
#include "doppler/kernel/work.h"

namespace doppler::formats {

// --- operators ---

// The shape of each argument; empty for arguments that are not tensors.
using TensorShapes = std::vector<std::vector<double>>;

// Returns whether the result is only a view of an argument, so that nothing is moved.
bool torch_is_view(std::string_view op);

// Returns whether an event has the name of an operator, "library::name". Scopes, annotations and
// steps of autograd ("autograd::engine::…", "AddmmBackward0") have not.
bool torch_is_operator(std::string_view name);
// Returns what an annotation or module adds to a scope: "Linear_0" for "nn.Module: Linear_0". Empty
// for those that say nothing about the model, such as steps of the profiler and of autograd.
std::string_view torch_scope_part(std::string_view name);
// The greatest depth of scopes; deeper ones have the name of that depth.
inline constexpr std::size_t kMostScopes = 16;
// Returns whether the operator only allocates memory.
bool torch_allocates(std::string_view op);
// Returns whether the operator is a product, a convolution or attention, whose work torch_flops()
// knows.
bool torch_is_product(std::string_view op);
// Returns which argument of a product, convolution or attention is the first that it multiplies: 1
// for those that add their first argument to the product, else 0.
std::size_t torch_first_operand(std::string_view op);

// Returns the flops: of products, convolutions and attention by their shapes; of other operators
// one for each element of the results; 0 for views, which move nothing.
double torch_flops(std::string_view op, const TensorShapes& inputs, double output_elements);

// Returns the bytes of an element by the name of its type ("float", "c10::Half", "long int", …), or
// 4 if the type is not known.
double torch_type_bytes(std::string_view type);
// Returns the element type by such a name, or nothing if it is complex or not known.
std::optional<ElementType> torch_element_type(std::string_view type);

// --- calls in an execution trace ---
//
// Operators call others, down to those that only allocate or view memory, and something in between
// does the work.

// A tensor that a call uses, as traces print it: [id, storage, offset, elements, bytes of an
// element, device].
struct TensorUse {
  double id = 0.0, storage = 0.0, elements = 0.0, bytes = 0.0;
  std::uint32_t argument = 0;  // index of the call's argument
  bool written = false;        // in place
  std::optional<ElementType> type = std::nullopt;
};

struct TorchCall {
  double id = 0.0, parent = 0.0;
  std::string name;
  bool has_schema = false;
  bool view = false;    // the result is only a view of an argument
  bool kernel = false;  // a run on a device, in linked traces, or a kernel of Triton
  std::optional<double> own_micros, micros;  // duration without and with the calls inside
  std::vector<TensorUse> inputs, outputs;
  double flops = 0.0;
  std::vector<kernel::Work> works = {};  // with their flops, without bytes
  std::uint32_t scope = 0;               // index into the result of find_scopes()
  std::size_t at = 0;                    // offset in the file
};

// The facts about memory in a schema such as
// "aten::add_(Tensor(a!) self, Tensor other) -> Tensor(a!)".
struct TorchSchema {
  std::vector<bool> written;  // by argument: marked with '!'
  bool view = false;          // the result shares memory with an argument and nothing is written
};
TorchSchema parse_torch_schema(std::string_view schema);

// Returns the scopes of calls: the names of the annotations and modules around them, joined with
// '/'; the first is empty. Sets the scope of each call, and sorts the calls by id.
std::vector<std::string> find_scopes(std::vector<TorchCall>& calls);

// Removes all calls but those that do the work, and puts these in the order in which they ran (ids
// rise with time). A call is kept for all that it calls if the calls inside do not account for it:
// if it is a product that calls no product, or has arguments that none of them reads or results
// that none writes. It then has the time of all of them. Otherwise the calls inside are kept.
void keep_work(std::vector<TorchCall>& calls);

}  // namespace doppler::formats
