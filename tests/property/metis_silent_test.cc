// METIS warns on standard output where a part that it would split again is empty: with few units,
// with units that outweigh what several devices should get, with devices of very different speed.
// Nothing of that may reach the standard output of whoever uses the library.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <memory>

#include "doppler/base/rng.h"
#include "doppler/device/topology.h"
#include "doppler/graph/builder.h"
#include "doppler/place/registry.h"
#include "doppler/schedule/placement.h"

namespace doppler::place {
namespace {

// From here on, descriptor 1 of this process is a file that is gone when it is closed.
class CapturedOutput {
 public:
  CapturedOutput() : file_(std::tmpfile()), before_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    dup2(fileno(file_), STDOUT_FILENO);
  }
  ~CapturedOutput() {
    std::fflush(stdout);
    dup2(before_, STDOUT_FILENO);
    close(before_);
    std::fclose(file_);
  }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  // How much has been printed so far.
  off_t bytes() const {
    std::fflush(stdout);
    return lseek(fileno(file_), 0, SEEK_END);
  }

 private:
  std::FILE* file_;
  int before_;
};

// Usually more devices than nodes; times that are equal, or spread over orders of magnitude, or 0.
cost::Problem awkward_problem(std::uint64_t seed) {
  Rng rng = Rng::stream(seed, 0x6d65746973);
  const std::size_t nodes = 1 + rng.below(rng.chance(0.2) ? 200 : 24);
  const std::size_t devices = 2 + rng.below(30);
  const double spread = rng.chance(0.3) ? 0.0 : 8.0 * rng.uniform(), none = 0.5 * rng.uniform();
  const double speeds = rng.chance(0.5) ? 0.0 : 4.0 * rng.uniform(), edges = 3.0 * rng.uniform();

  device::TopologySpec spec;
  spec.name = "devices";
  std::vector<double> slowness;
  for (std::uint32_t d = 0; d < devices; ++d) {
    spec.kinds.push_back({.name = fmt::format("k{}", d)});
    spec.devices.push_back({.name = fmt::format("d{}", d), .kind = d});
    slowness.push_back(std::exp(speeds * rng.uniform()));
  }
  spec.pairwise_links = device::Channel{.name = "link"};
  spec.given_costs_by_default = true;

  graph::GraphBuilder builder;
  std::vector<TensorId> outputs;
  for (std::size_t v = 0; v < nodes; ++v) {
    const double time = rng.chance(none) ? 0.0 : std::exp(spread * rng.uniform());
    graph::NodeSpec node{.name = fmt::format("n{}", v)};
    for (std::size_t d = 0; d < devices; ++d) {
      node.times_by_kind.emplace_back(fmt::format("k{}", d), time * slowness[d]);
    }
    const NodeId id = builder.add_node(std::move(node));
    for (double left = edges; v > 0 && left > 0.0; left -= 1.0) {
      if (!rng.chance(std::min(left, 1.0))) continue;
      builder.connect(outputs[rng.below(static_cast<std::uint32_t>(v))], id,
                      rng.chance(0.3) ? 0.0 : rng.uniform());
    }
    outputs.push_back(builder.add_output(id, std::nullopt));
  }
  return cost::Problem(std::make_shared<graph::Graph>(std::move(builder).build()),
                       std::make_shared<device::Topology>(std::move(spec)));
}

TEST(Metis, PrintsNothing) {
  std::uint64_t printed_at = 0;  // a seed; said once there is a standard output again
  {
    const CapturedOutput output;
    for (std::uint64_t seed = 1; seed <= 1500 && printed_at == 0; ++seed) {
      const cost::Problem problem = awkward_problem(seed);
      schedule::check_placement(problem, make_metis()->place(problem, {.seed = seed}).placement);
      if (output.bytes() != 0) printed_at = seed;
    }
  }
  EXPECT_EQ(printed_at, 0u);
}

}  // namespace
}  // namespace doppler::place
