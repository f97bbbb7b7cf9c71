// Traces of the PyTorch profiler (Kineto), which are Chrome traces.
// docs/formats/import.md says what is read, assumed and ignored.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"

namespace doppler::formats {

bool is_kineto(const Content& content);
Imported read_kineto(const std::string& file, std::string_view text, const ImportOptions& = {});

// Execution traces of PyTorch (ExecutionTraceObserver), operators and the tensors they use.
// docs/formats/import.md says what is read, assumed and ignored.

bool is_pytorch_trace(const Content& content);
Imported read_pytorch_trace(const std::string& file, std::string_view text,
                            const ImportOptions& = {});

}  // namespace doppler::formats
