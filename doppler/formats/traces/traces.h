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

// Returns the bytes of all tensors in a list as traces print it: 16384 for
// "[[12, 13, 0, 4096, 4, 'cuda:0'], 3]", which has one of 4096 elements of 4 bytes. Returns nothing
// if the list has no tensor.
std::optional<double> tensor_bytes_in(std::string_view values);

}  // namespace doppler::formats
