// A graph's statistics as `graph show` prints them.
#pragma once

#include <string>

#include "doppler/graph/graph.h"

namespace doppler::study {

std::string graph_text(const graph::Graph& graph, const std::string& path);
std::string graph_json(const graph::Graph& graph, const std::string& path);

}  // namespace doppler::study
