#include "doppler/tra/language/program_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "doppler/base/error.h"
#include "doppler/base/file.h"
#include "doppler/tra/language/syntax.h"
#include "doppler/tra/workload_texts.inc"  // made by CMake from examples/programs

namespace doppler::tra {

Program parse_program(const std::string& file_name, const std::string& text,
                      const std::map<std::string, std::int64_t>& sizes) {
  const ProgramSource library{"standard library", program_library(), true};
  const ProgramSource source{file_name, text, false};
  Program program = evaluate_program(parse_syntax(source), parse_syntax(library), sizes);
  program.name = file_stem(file_name);
  return program;
}

// docs/formats/program.md shows this text, and a test checks that both are the same.
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

std::vector<Workload> workloads() {
  return {
      {"chainmm", "chainmm.tp", kText_chainmm, {{"size", "n"}}},
      {"ffnn",
       "ffnn.tp",
       kText_ffnn,
       {{"batch", "batch"}, {"input", "in"}, {"hidden", "hidden"}, {"output-size", "out"}}},
      {"llama-block",
       "llama_block.tp",
       kText_llama_block,
       {{"batch", "batch"},
        {"seq", "seq"},
        {"hidden", "embed"},
        {"heads", "heads"},
        {"ffn", "ffn"}}},
      {"llama-layer",
       "llama_layer.tp",
       kText_llama_layer,
       {{"batch", "batch"},
        {"seq", "seq"},
        {"hidden", "embed"},
        {"heads", "heads"},
        {"ffn", "ffn"},
        {"vocab", "vocab"},
        {"layers", "layers"}}},
  };
}

Program workload(const std::string& name, const std::map<std::string, std::int64_t>& options,
                 std::vector<std::string>& ignored) {
  std::vector<std::string_view> known;
  for (const Workload& candidate : workloads()) {
    known.push_back(candidate.name);
    if (candidate.name != name) continue;
    std::map<std::string, std::int64_t> sizes;
    for (const auto& [option, size] : options) {
      const auto found =
          std::find_if(candidate.options.begin(), candidate.options.end(),
                       [&wanted = option](const auto& entry) { return entry.first == wanted; });
      if (found == candidate.options.end()) {
        ignored.push_back(option);
      } else {
        sizes.emplace(found->second, size);
      }
    }
    return parse_program(std::string(candidate.file), std::string(candidate.text), sizes);
  }
  throw InputError(fmt::format("unknown workload '{}'; one of: {}", name, fmt::join(known, ", ")));
}

}  // namespace doppler::tra
