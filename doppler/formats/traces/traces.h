// Reading of traces that training frameworks write: those of PyTorch and those of Chakra.
// docs/formats/import.md says what is read, assumed and ignored. The readers are as content.h
// describes, and all functions are safe to call from several threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "doppler/formats/content.h"

namespace doppler::formats {

// --- traces of the PyTorch profiler (Kineto), which are Chrome traces ---

bool is_kineto(const Content& content);
Imported read_kineto(const std::string& file, std::string_view text, const ImportOptions& = {});

// --- execution traces of PyTorch (ExecutionTraceObserver): operators and the tensors they use ---

bool is_pytorch_trace(const Content& content);
Imported read_pytorch_trace(const std::string& file, std::string_view text,
                            const ImportOptions& = {});

// --- execution traces of Chakra (mlcommons): its stream of protocol buffers, and JSON ---

bool is_chakra(const Content& content);
Imported read_chakra(const std::string& file, std::string_view bytes, const ImportOptions& = {});

// The tensors in a list, taken together.
struct TensorTotals {
  double elements = 0.0, bytes = 0.0;
};
// Returns the totals of a list as traces print it: 16384 bytes for
// "[[12, 13, 0, 4096, 4, 'cuda:0'], 3]", which has one tensor of 4096 elements of 4 bytes. Returns
// nothing if the list has no tensor.
std::optional<TensorTotals> tensors_in(std::string_view values);

}  // namespace doppler::formats
