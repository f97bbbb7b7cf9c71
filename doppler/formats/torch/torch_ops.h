// What operators of PyTorch cost, by their names and shapes, for traces that did not measure it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

// The calls in an execution trace of PyTorch, and which of them do the work: operators call others,
// down to those that only allocate or look at memory, and something in between computes.

// A tensor as traces print it: [id, storage, offset, elements, bytes of an element, device].
struct TensorUse {
  double id = 0.0, storage = 0.0, elements = 0.0, bytes = 0.0;
  std::uint32_t argument = 0;  // of the call, counted from 0
  bool written = false;        // in place
};

struct TorchCall {
  double id = 0.0, parent = 0.0;
  std::string name;
  bool has_schema = false;
  bool view = false;    // the result only is another way to look at an argument
  bool kernel = false;  // what ran on a device, in linked traces, or a kernel of Triton
  std::optional<double> own_micros, micros;  // without what it calls, and with it
  std::vector<TensorUse> inputs, outputs;
  double flops = 0.0;
  std::uint32_t scope = 0;  // of find_scopes
  std::size_t at = 0;
};

// What a schema says of memory, as in "aten::add_(Tensor(a!) self, Tensor other) -> Tensor(a!)".
struct TorchSchema {
  std::vector<bool> written;  // by argument: marked with '!'
  bool view = false;          // the result shares memory with an argument and nothing is written
};
TorchSchema parse_torch_schema(std::string_view schema);

// The names of the annotations and modules around calls, joined with '/'; the first is empty. Each
// call gets the number of its own. Puts the calls in the order of their ids.
std::vector<std::string> find_scopes(std::vector<TorchCall>& calls);

// Leaves the calls that do the work, in the order in which they ran: ids rise with time. A call
// stands for all that it calls where these do not account for it: a product that calls none, or
// what reads arguments or gives results that none of them reads or writes. Otherwise those that it
// calls remain. Its own time then is that of all of them.
void keep_work(std::vector<TorchCall>& calls);

}  // namespace doppler::formats
