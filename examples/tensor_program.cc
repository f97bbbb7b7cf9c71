// A tensor program built in C++: say what to compute, get kernels for a machine and their devices.
#include <cstdio>

#include "doppler/api/doppler.h"

int main() {
  using namespace doppler;

  // One hidden layer and a squared error. Dimensions are matched by name.
  const tra::Dimension batch{"batch", 4096}, in{"in", 2048}, hidden{"hidden", 8192},
      out{"out", 2048};
  const auto tensor = [](const char* name, const tra::Dimensions& dimensions, tra::InputRole role) {
    return tra::input(name, {{}, dimensions}, role);
  };
  const tra::Relation x = tensor("x", {batch, in}, tra::InputRole::kInput);
  const tra::Relation target = tensor("target", {batch, out}, tra::InputRole::kInput);
  const tra::Relation w1 = tensor("w1", {in, hidden}, tra::InputRole::kParameter);
  const tra::Relation w2 = tensor("w2", {hidden, out}, tra::InputRole::kParameter);
  const tra::Relation h = tra::apply("gelu", tra::contract(x, w1, {"batch", "hidden"}));
  const tra::Relation y = named(tra::contract(h, w2, {"batch", "out"}), "y");
  const tra::Relation error = tra::subtract(y, target);

  const tra::Program program{.name = "two_layers",
                             .dimensions = {batch, in, hidden, out},
                             .inputs = {x, target},
                             .parameters = {w1, w2},
                             .values = {},
                             .outputs = {{"y", y}},
                             .loss = tra::mean(tra::multiply(error, error), {"batch", "out"})};

  // Forward, backward and an update of both weights, split and placed for four A100.
  compile::FoundPlan compiled = api::compile(program, "4xA100", {.train = true});
  std::printf("%zu kernels in the best of %zu plans\n", compiled.lowered.graph.node_count(),
              compiled.simulated_plans);
  const place::Result result =
      api::place(std::move(compiled.lowered.graph), "4xA100", {.run = {.budget_seconds = 1.0}});
  std::printf("%.3f ms, at most %.1f %% above the best possible\n", 1e3 * result.figures.nominal,
              100.0 * result.gap);
}
