#include "doppler/tra/language/workloads.h"

#include <fmt/format.h>

#include <algorithm>

#include "doppler/base/error.h"
#include "doppler/tra/language/program_text.h"
#include "doppler/tra/workload_texts.inc"  // made by CMake from examples/programs

namespace doppler::tra {

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
      const auto found = std::find_if(candidate.options.begin(), candidate.options.end(),
                                      [&](const auto& entry) { return entry.first == option; });
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
