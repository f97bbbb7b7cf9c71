// Reading the problem that a command is about.
#pragma once

#include <memory>
#include <string>

#include "app/requests.h"
#include "app/terminal.h"
#include "doppler/cost/problem.h"
#include "doppler/render/problem_text.h"

namespace doppler::app {

struct Subject {
  std::shared_ptr<const cost::Problem> problem;
  render::GraphOrigin origin;
};

// Prints the notes of the graph's reader.
Subject load_subject(const std::string& graph, const MachineOptions& machine,
                     ProgressLine& progress);

}  // namespace doppler::app
