#include "support/programs.h"

#include <algorithm>
#include <set>

#include "doppler/base/file.h"
#include "doppler/tra/language/program_text.h"
#include "support/tra.h"

namespace doppler::test {
namespace {

const Sizes& small_sizes(const std::string& name) {
  static const std::map<std::string, Sizes> kSizes = {
      {"chainmm", {{"size", 7}}},
      {"ffnn", {{"batch", 7}, {"input", 5}, {"hidden", 11}, {"output-size", 3}}},
      {"llama-block", {{"batch", 2}, {"seq", 5}, {"hidden", 12}, {"heads", 3}, {"ffn", 7}}},
      {"llama-layer",
       {{"batch", 2},
        {"seq", 5},
        {"hidden", 12},
        {"heads", 3},
        {"ffn", 7},
        {"vocab", 11},
        {"layers", 2}}},
      {"classifier", {{"batch", 7}, {"in", 5}, {"hidden", 11}, {"classes", 3}}},
      {"graph_convolution", {{"part", 5}, {"features", 7}, {"hidden", 4}, {"classes", 3}}},
  };
  return kSizes.at(name);
}

std::int64_t size_of(const tra::Program& program, const std::string& dimension) {
  const int d = tra::find(program.dimensions, dimension);
  return d < 0 ? 0 : program.dimensions[static_cast<std::size_t>(d)].size;
}

void make_one_hot(std::vector<double>& values, std::int64_t classes, Rng& rng) {
  const auto row = static_cast<std::size_t>(classes);
  std::fill(values.begin(), values.end(), 0.0);
  for (std::size_t i = 0; i < values.size(); i += row) {
    values[i + rng.below(static_cast<std::uint32_t>(classes))] = 1.0;
  }
}

}  // namespace

tra::Program example_program(const std::string& name, const Sizes& sizes) {
  const std::string path = DOPPLER_SOURCE "/examples/programs/" + name + ".tp";
  return tra::parse_program(path, read_file(path), sizes);
}

std::vector<std::string> small_programs() {
  std::vector<std::string> names;
  for (const tra::Workload& workload : tra::workloads()) names.emplace_back(workload.name);
  names.insert(names.end(), {"classifier", "graph_convolution"});
  return names;
}

std::string program_test_name(const testing::TestParamInfo<std::string>& program) {
  std::string name = program.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

tra::Program small_program(const std::string& name) {
  const Sizes& sizes = small_sizes(name);
  if (name == "classifier" || name == "graph_convolution") return example_program(name, sizes);
  std::vector<std::string> ignored;
  return tra::workload(name, sizes, ignored);
}

Values program_inputs(const tra::Program& program, Rng& rng) {
  std::vector<tra::Relation> all = program.inputs;
  all.insert(all.end(), program.parameters.begin(), program.parameters.end());
  Values values = random_inputs(all, rng, -1.0, 1.0);
  for (auto& [name, blocks] : values) {
    for (auto& block : blocks) {
      for (double& v : block) v = static_cast<float>(v);
    }
  }
  for (const tra::Relation& relation : program.inputs) {
    for (auto& block : values.at(relation->name)) {
      const std::string last =
          relation->type.dimensions.empty() ? "" : relation->type.dimensions.back().name;
      if (relation->name == "tokens") {
        const auto vocabulary = static_cast<std::uint32_t>(size_of(program, "vocab"));
        for (double& v : block) v = rng.below(vocabulary);
      } else if (relation->name == "target" && (last == "classes" || last == "vocab")) {
        make_one_hot(block, size_of(program, last), rng);
      }
    }
  }
  return values;
}

std::vector<std::string> working_dimensions(std::span<const tra::Relation> roots) {
  std::set<std::string> found;
  for (const tra::Relation& relation : tra::in_order(roots)) {
    for (const tra::Dimension& dimension : relation->type.dimensions) found.insert(dimension.name);
  }
  return {found.begin(), found.end()};
}

}  // namespace doppler::test
