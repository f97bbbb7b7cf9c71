// A plan as `graph compile --explain` prints it: per operation its parts, how its operands reach
// it, and what is predicted to be computed and moved.
#pragma once

#include <string>

#include "doppler/tra/planning.h"

namespace doppler::study {

std::string plan_text(const tra::Plan& plan, const tra::Machine& machine);

}  // namespace doppler::study
