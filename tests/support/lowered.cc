#include "support/lowered.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "doppler/tra/program.h"
#include "support/tra.h"

namespace doppler::test {

using tra::Blocks;

double relative_error(const Blocks& found, const Blocks& expected, double least) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (found.size() != expected.size()) return kInfinity;
  double difference = 0.0, magnitude = least;
  for (std::size_t b = 0; b < expected.size(); ++b) {
    if (found[b].size() != expected[b].size()) return kInfinity;
    for (std::size_t i = 0; i < expected[b].size(); ++i) {
      if (!std::isfinite(found[b][i]) || !std::isfinite(expected[b][i])) return kInfinity;
      difference = std::max(difference, std::abs(found[b][i] - expected[b][i]));
      magnitude = std::max(magnitude, std::abs(expected[b][i]));
    }
  }
  return difference == 0.0 ? 0.0 : difference / magnitude;
}

compile::FoundPlan compile_program(const tra::Program& program, const CompileSetup& setup) {
  const tra::Computation computation =
      setup.train ? tra::training(program, setup.optimizer, setup.rate) : tra::forward(program);
  const kernel::Registry& kernels = kernel::default_kernels();
  if (setup.parts) return compile::given_plan(computation, setup.machine, *setup.parts, kernels);
  tra::Plan plan =
      tra::Planner(computation.relations(), setup.machine, computation.updates()).best();
  tra::Lowered lowered = tra::lower(computation, plan.sharding(), kernels);
  return {.machine = setup.machine, .plan = std::move(plan), .lowered = std::move(lowered)};
}

template <class T>
graph::TensorValues<T> graph_inputs(const tra::Lowered& lowered, const Values& values) {
  graph::TensorValues<T> given;
  for (const tra::Lowered::Input& input : lowered.inputs) {
    const Blocks blocks = split(input.relation->type, values.at(input.relation->name));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      given.emplace(input.blocks[i], std::vector<T>(blocks[i].begin(), blocks[i].end()));
    }
  }
  return given;
}

template <class T>
LoweredRun<T>::LoweredRun(const tra::Lowered& lowered, const Values& values)
    : lowered_(lowered),
      given_(graph_inputs<T>(lowered, values)),
      results_(graph::SerialRunner<T>(lowered.graph).run(given_)) {}

template <class T>
Blocks LoweredRun<T>::root(std::size_t r) const {
  Blocks blocks;
  for (const TensorId tensor : lowered_.roots.at(r)) {
    const auto computed = results_.find(tensor);
    const auto& values = computed != results_.end() ? computed->second : given_.at(tensor);
    blocks.emplace_back(values.begin(), values.end());
  }
  return blocks;
}

template <class T>
Values LoweredRun<T>::updated() const {
  std::unordered_map<TensorId, TensorId> update_of;
  for (const auto& [tensor, values] : results_) {
    const TensorId parameter = lowered_.graph.updates(tensor);
    if (parameter.valid()) update_of.emplace(parameter, tensor);
  }
  Values result;
  for (const tra::Lowered::Input& input : lowered_.inputs) {
    if (!update_of.contains(input.blocks[0])) continue;
    Blocks blocks;
    for (const TensorId block : input.blocks) {
      const auto& values = results_.at(update_of.at(block));
      blocks.emplace_back(values.begin(), values.end());
    }
    result[input.relation->name] = unsplit(input.relation->type, blocks);
  }
  return result;
}

template graph::TensorValues<float> graph_inputs(const tra::Lowered&, const Values&);
template graph::TensorValues<double> graph_inputs(const tra::Lowered&, const Values&);
template class LoweredRun<float>;
template class LoweredRun<double>;

DenseTraining::DenseTraining(const tra::Program& program, tra::Optimizer optimizer, double rate)
    : program_(program),
      roots_(tra::gradients(*program.loss, program.parameters)),
      optimizer_(optimizer),
      rate_(rate) {
  roots_.insert(roots_.begin(), *program.loss);
}

void DenseTraining::add_state(Values& values) const {
  if (optimizer_ != tra::Optimizer::kAdam) return;
  values["adam.step"] = {{0.0}};
  for (const tra::Relation& parameter : program_.parameters) {
    Blocks zeros = values.at(parameter->name);
    for (auto& block : zeros) std::fill(block.begin(), block.end(), 0.0);
    values[parameter->name + ".first"] = values[parameter->name + ".second"] = zeros;
  }
}

double DenseTraining::step(Values& values) const {
  const std::vector<Blocks> found = tra::interpret(roots_, values);
  const bool adam = optimizer_ == tra::Optimizer::kAdam;
  const double t = adam ? ++values.at("adam.step")[0][0] : 0.0;
  for (std::size_t p = 0; p < program_.parameters.size(); ++p) {
    const std::string& name = program_.parameters[p]->name;
    Blocks& parameter = values.at(name);
    for (std::size_t b = 0; b < parameter.size(); ++b) {
      for (std::size_t i = 0; i < parameter[b].size(); ++i) {
        const double g = found[p + 1][b][i];
        if (!adam) {
          parameter[b][i] -= rate_ * g;
          continue;
        }
        // Kingma and Ba, algorithm 1, with their suggested values.
        double& m = values.at(name + ".first")[b][i];
        double& v = values.at(name + ".second")[b][i];
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        const double mean = m / (1 - std::pow(0.9, t)), spread = v / (1 - std::pow(0.999, t));
        parameter[b][i] -= rate_ * mean / (std::sqrt(spread) + 1e-8);
      }
    }
  }
  return found[0][0][0];
}

}  // namespace doppler::test
