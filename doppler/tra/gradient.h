// Reverse-mode differentiation on the algebra itself: the gradients are again expressions, which
// shard, place and run like any other, and can be differentiated once more.
#pragma once

#include <span>
#include <vector>

#include "doppler/tra/expression.h"

namespace doppler::tra {

// d loss / d each of `wrt`, of the same types. The loss is one number: no keys, no dimensions. What
// the loss does not depend on has gradient zero. Where a maximum is reached more than once, each
// place gets the gradient. Throws InputError where a rule is missing (third derivatives of
// functions).
std::vector<Relation> gradients(const Relation& loss, std::span<const Relation> wrt);

}  // namespace doppler::tra
