#include "doppler/tra/language/library.h"

namespace doppler::tra {

// docs/formats/program.md shows this text; a test keeps them the same.
std::string_view program_library() {
  return R"(# x squared.
fn square(x)
  return x * x
end

# Along d: positive, sums to one. The maximum is subtracted so that exp cannot overflow.
fn softmax(x, d)
  e = exp(x - max(x, d))
  return e / sum(e, d)
end

# How badly logits predict a target that sums to one along d.
fn cross_entropy(logits, target, d)
  shifted = logits - max(logits, d)
  log_p = shifted - log(sum(exp(shifted), d))
  return -dot(target, log_p, d)
end

# x with root mean square one along d, times a weight per element of d.
fn rms_norm(x, weight, d, eps)
  return x * rsqrt(mean(square(x), d) + eps) * weight
end

# q has positions s, k and v have positions t; d is what q and k are compared along, and no
# position sees a later one.
fn attention(q, k, v, s, t, d)
  scores = causal(dot(q, k, d) / sqrt(d), s, t, -1e9)
  return dot(softmax(scores, t), v, t)
end

# The gated part of a feed-forward block.
fn swiglu(gate, up)
  return silu(gate) * up
end
)";
}

}  // namespace doppler::tra
