// What the program understood, in words.
#pragma once

#include <string>
#include <string_view>

#include "doppler/cost/problem.h"
#include "doppler/schedule/figures.h"

namespace doppler::render {

std::string_view objective_name(schedule::Objective objective);  // "nominal", "robust", "any-order"

// Graph, devices, costs and links, a line each, ended by newlines.
std::string describe_problem(const cost::Problem& problem, const std::string& graph_path);

}  // namespace doppler::render
