// Writing graphs for the commands that make them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/requests.h"
#include "app/terminal.h"
#include "doppler/base/json_writer.h"
#include "doppler/formats/formats.h"
#include "doppler/graph/graph.h"

namespace doppler::app {

// A line for each option that was given and means nothing for this sort of graph.
void warn_of_ignored(const std::vector<std::string>& options, const std::string& sort);

// The format to write: as named, else by the file's extension. A name without one (-, /dev/null)
// gets our own; an extension of something else must not hold it.
const formats::Format& output_format(const GraphOutput& output);

// Writes the graph and says so; what the format could not hold is told as well. `add_keys` adds to
// what is said in JSON.
void write_graph(const graph::Graph& graph, const GraphOutput& output,
                 const formats::Format& format, ProgressLine& progress,
                 const std::function<void(JsonWriter&)>& add_keys = {});

}  // namespace doppler::app
