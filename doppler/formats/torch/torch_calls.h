// The calls in an execution trace of PyTorch, and which of them do the work: operators call others,
// down to those that only allocate or look at memory, and something in between computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace doppler::formats {

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
