// The keys that every result about a problem starts with.
#pragma once

#include <string>

#include "doppler/base/json_writer.h"
#include "doppler/cost/problem.h"

namespace doppler::study {

// Graph, devices, links, costs and the unit of time, into the object that is open.
void write_subject(JsonWriter& json, const cost::Problem& problem, const std::string& graph_path);

}  // namespace doppler::study
