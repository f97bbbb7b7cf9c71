#include "doppler/place/device_speeds.h"

namespace doppler::place {

std::vector<double> speed_shares(const cost::Problem& problem, const MeanCosts& mean) {
  struct Total {
    double mean = 0.0;
    double own = 0.0;
    bool used = false;
  };
  std::vector<Total> totals(problem.device_count());
  const auto add = [&](NodeId node, DeviceId device) {
    Total& total = totals[device.index()];
    total.mean += mean.compute(node);
    total.own += problem.compute_time(node, device);
    total.used = true;
  };
  std::vector<Total> of_column(problem.column_count());  // nodes that may run anywhere
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    const NodeId node = NodeId::of(v);
    const auto allowed = problem.allowed_devices(node);
    if (allowed.size() < problem.device_count()) {
      for (const DeviceId device : allowed) add(node, device);
      continue;
    }
    for (std::size_t k = 0; k < of_column.size(); ++k) {
      of_column[k].mean += mean.compute(node);
      of_column[k].own += problem.compute_row(node)[k];
      of_column[k].used = true;
    }
  }
  std::vector<double> shares(problem.device_count(), 0.0);
  double sum = 0.0;
  for (std::size_t d = 0; d < shares.size(); ++d) {
    const Total& anywhere = of_column[problem.column(DeviceId::of(d))];
    if (!totals[d].used && !anywhere.used) continue;
    const double own = totals[d].own + anywhere.own;
    shares[d] = own > 0.0 ? (totals[d].mean + anywhere.mean) / own : 1.0;
    sum += shares[d];
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace doppler::place
