// Training on the engine: compile a program, place it, run it many times, change the placement.
#include <cstdio>
#include <random>

#include "doppler/api/doppler.h"
#include "doppler/exec/engine.h"

int main() {
  using namespace doppler;

  const char* text =
      "dim batch = 256, in = 64, hidden = 128, out = 8\n"
      "input x[batch, in]\n"
      "input target[batch, out]\n"
      "param w1[in, hidden]\n"
      "param w2[hidden, out]\n"
      "y = einsum(relu(einsum(x, w1 -> [batch, hidden])), w2 -> [batch, out])\n"
      "loss = mean(square(y - target))\n"
      "output y\n";
  compile::FoundPlan compiled =
      api::compile(tra::parse_program("example.tp", text), "cpu:2", {.train = true, .rate = 0.5});
  const auto problem = api::make_problem(std::move(compiled.lowered.graph), "cpu:2");
  const auto placed = [&](const char* method) {
    return api::place(*problem, {.method = method, .run = {.budget_seconds = 0.5}}).placement;
  };

  // Every input and parameter of the graph is a block of one of the program's.
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 0.1f);
  exec::Values values;
  const graph::SerialRunner<float> shapes(problem->graph());
  for (const tra::Lowered::Input& input : compiled.lowered.inputs) {
    for (const TensorId block : input.blocks) {
      std::size_t elements = 1;
      for (const std::int64_t size : *shapes.shape(block)) {
        elements *= static_cast<std::size_t>(size);
      }
      values[block].resize(elements);
      for (float& value : values[block]) value = normal(random);
    }
  }

  exec::Engine engine(problem, {});
  engine.load(placed("auto"));
  engine.set(values);
  for (int step = 0; step < 200; ++step) {
    // Parameters keep what they have learnt; those that stay on their device are not copied.
    if (step == 100) engine.load(placed("round-robin"));
    const schedule::Timeline timeline = engine.run();
    if (step % 50 == 0 || step == 199) {
      std::printf("step %3d: loss %.6f, %.3f ms\n", step,
                  engine.results().at(compiled.lowered.roots[0][0])[0], 1e3 * timeline.makespan);
    }
  }
}
