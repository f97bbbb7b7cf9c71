// A plan as `graph compile --explain` prints it: per operation its parts, how its operands reach
// it, and what is predicted to be computed and moved.
#pragma once

#include <string>

#include "doppler/base/json_writer.h"
#include "doppler/study/plan_search.h"

namespace doppler::study {

std::string plan_text(const FoundPlan& found);
// The same as an object (docs/command.md).
void write_plan(JsonWriter& json, const FoundPlan& found);

}  // namespace doppler::study
