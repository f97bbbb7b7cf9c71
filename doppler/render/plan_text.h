// A plan as `graph compile --explain` prints it: per operation its parts, how its operands reach
// it, and what is predicted to be computed and moved.
#pragma once

#include <string>

#include "doppler/base/json_writer.h"
#include "doppler/compile/plan_search.h"

namespace doppler::render {

std::string plan_text(const compile::FoundPlan& found);
// The same as an object (docs/command.md).
void write_plan(JsonWriter& json, const compile::FoundPlan& found);

}  // namespace doppler::render
