// What a training came to, as text for people and as JSON for programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doppler/train/session/session.h"

namespace doppler::render {

// Returns a few lines about the last stage that ran. `interrupted` is added to the first line if
// the session was stopped before its end; it may say how to resume.
std::string training_text(const std::vector<train::TrainingProblem>& problems,
                          const train::SessionResult& result, std::string_view interrupted);

// Returns the same as one JSON object (docs/command.md). `folder` is the session's.
std::string training_json(const std::string& folder,
                          const std::vector<train::TrainingProblem>& problems,
                          const train::SessionResult& result);

}  // namespace doppler::render
