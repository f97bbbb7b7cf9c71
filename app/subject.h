// The problem that a command is about: reading it, alone or with a placement, and showing a run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/terminal.h"
#include "doppler/api/placement_source.h"
#include "doppler/cost/problem.h"
#include "doppler/render/problem_text.h"
#include "doppler/schedule/timeline.h"

namespace doppler::app {

struct Subject {
  std::shared_ptr<const cost::Problem> problem;
  render::GraphOrigin origin;  // for JSON
};

// Loads a problem and prints what the graph's reader dropped or guessed.
Subject load_subject(const api::ProblemSource& source, ProgressLine& progress);

// Reads a placement with its problem as PlacementSource does. Where something is not known, the
// error says which option gives it.
api::SourcedPlacement read_sourced(api::PlacementSource& source, const std::string& path,
                                   std::vector<std::string>& warnings);

// Says where the result of a run goes: to a trace, and to standard output as text or JSON.
struct RunOutput {
  std::string graph;  // path
  std::string trace;  // file; empty where none is to be written
  bool json = false;
  bool silent = false;  // another file goes to standard output
};
// Writes the trace where there is to be one. Prints the JSON, or a description of the problem and
// the text, unless a file goes to standard output.
void show_run(const cost::Problem& problem, const RunOutput& output,
              const schedule::Timeline& timeline, const std::string& text_or_json);

}  // namespace doppler::app
