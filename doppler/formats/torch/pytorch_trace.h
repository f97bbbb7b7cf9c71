// Execution traces of PyTorch (ExecutionTraceObserver), operators and the tensors they use.
// docs/formats/import.md says what is read, assumed and ignored.
#pragma once

#include <string>
#include <string_view>

#include "doppler/formats/content.h"
#include "doppler/formats/imported.h"

namespace doppler::formats {

bool is_pytorch_trace(const Content& content);
Imported read_pytorch_trace(const std::string& file, std::string_view text,
                            const ImportOptions& = {});

}  // namespace doppler::formats
