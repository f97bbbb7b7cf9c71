#include "doppler/exec/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "doppler/base/error.h"
#include "doppler/base/statistics.h"

namespace doppler::exec {
namespace {

// Samples are eight bytes each, so that a profile takes at most 400 MB.
constexpr std::size_t kMostSamples = 50'000'000;

double nine_digits(double value) {
  const std::string text = fmt::format("{:.8e}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Returns the distance between the values a quarter and three quarters up the sorted list.
// REQUIRES: there is a value.
double quartile_distance(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t last = values.size() - 1;
  return values[last - last / 4] - values[last / 4];
}

}  // namespace

Profile::Profile(const cost::Problem& problem)
    : problem_(problem), nodes_(problem.node_count() * problem.column_count()) {}

void Profile::add(const schedule::Timeline& timeline) {
  samples_ += timeline.nodes.size() + timeline.transfers.size();
  if (samples_ > kMostSamples) {
    throw ParameterError(fmt::format(
        "a profile of more than {} runs of this graph takes too much memory: run it less often",
        runs_));
  }
  ++runs_;
  for (std::size_t v = 0; v < timeline.nodes.size(); ++v) {
    const schedule::NodeRun& run = timeline.nodes[v];
    nodes_[v * problem_.column_count() + problem_.column(timeline.device[v])].push_back(run.end -
                                                                                        run.start);
  }
  for (const schedule::TransferRun& run : timeline.transfers) {
    transfers_[{run.tensor, run.from, run.to}].push_back(run.end - run.start);
  }
}

cost::MeasuredCosts Profile::costs() const {
  const device::Topology& topology = problem_.topology();
  cost::MeasuredCosts costs{.graph_hash = problem_.graph().hash(), .runs = runs_};
  for (const device::DeviceKind& kind : topology.kinds()) costs.kinds.push_back(kind.name);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].empty()) continue;
    costs.nodes.push_back({.node = NodeId::of(i / problem_.column_count()),
                           .kind = static_cast<std::uint32_t>(i % problem_.column_count()),
                           .seconds = nine_digits(trimmed_mean(nodes_[i])),
                           .spread = nine_digits(quartile_distance(nodes_[i]))});
  }
  for (const auto& [route, samples] : transfers_) {
    cost::MeasuredTransfer transfer{.tensor = route.tensor,
                                    .from = topology.device(route.from).name,
                                    .to = topology.device(route.to).name,
                                    .seconds = nine_digits(trimmed_mean(samples)),
                                    .bytes = problem_.bytes(route.tensor)};
    if (problem_.transfer_by_bytes(route.tensor)) {
      transfer.link = problem_.topology_link(route.from, route.to);
    }
    costs.transfers.push_back(std::move(transfer));
  }
  return costs;
}

}  // namespace doppler::exec
