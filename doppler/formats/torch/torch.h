// Reading of traces of PyTorch. docs/formats/import.md says what is read, assumed and ignored. The
// readers are as content.h describes, and all functions safe to call from several threads.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"

namespace doppler::formats {

// --- traces of the PyTorch profiler (Kineto), which are Chrome traces ---

bool is_kineto(const Content& content);
Imported read_kineto(const std::string& file, std::string_view text, const ImportOptions& = {});

// --- execution traces (ExecutionTraceObserver): operators and the tensors that they use ---

bool is_pytorch_trace(const Content& content);
Imported read_pytorch_trace(const std::string& file, std::string_view text,
                            const ImportOptions& = {});

}  // namespace doppler::formats
