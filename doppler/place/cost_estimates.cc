#include "doppler/place/cost_estimates.h"

#include <algorithm>

namespace doppler::place {

MeanCosts::MeanCosts(const cost::Problem& problem)
    : problem_(problem), several_devices_(problem.device_count() > 1) {
  const std::size_t devices = problem.device_count();
  std::vector<double> devices_of_column(problem.column_count(), 0.0);
  for (std::size_t d = 0; d < devices; ++d) ++devices_of_column[problem.column(DeviceId::of(d))];

  compute_.resize(problem.node_count());
  for (std::size_t v = 0; v < compute_.size(); ++v) {
    const NodeId node = NodeId::of(v);
    const double* row = problem.compute_row(node);
    const auto allowed = problem.allowed_devices(node);
    double total = 0.0;
    if (allowed.size() == devices) {
      for (std::size_t k = 0; k < devices_of_column.size(); ++k) {
        if (devices_of_column[k] > 0.0) total += devices_of_column[k] * row[k];
      }
    } else {
      for (const DeviceId device : allowed) total += row[problem.column(device)];
    }
    compute_[v] = total / static_cast<double>(allowed.size());
  }

  if (!several_devices_ || problem.all_transfers_given()) return;
  for (std::size_t from = 0; from < devices; ++from) {
    for (std::size_t to = 0; to < devices; ++to) {
      if (from == to) continue;
      const auto& link = problem.link(DeviceId::of(from), DeviceId::of(to));
      latency_ += link.latency_seconds;
      seconds_per_byte_ += 1.0 / link.bandwidth;
    }
  }
  const double pairs = static_cast<double>(devices) * static_cast<double>(devices - 1);
  latency_ /= pairs;
  seconds_per_byte_ /= pairs;
}

std::vector<double> MeanCosts::upward_ranks() const {
  std::vector<double> rank(problem_.node_count());
  const auto order = problem_.graph().topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    double longest = 0.0;
    for (const cost::Problem::Edge& edge : problem_.edges_from(*it)) {
      longest = std::max(longest, transfer(edge) + rank[edge.consumer.index()]);
    }
    rank[it->index()] = longest + compute(*it);
  }
  return rank;
}

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

namespace {

using Link = cost::Problem::Link;

bool same(const Link& a, const Link& b) {
  return a.latency_seconds == b.latency_seconds && a.bandwidth == b.bandwidth;
}

}  // namespace

// A device joins a class where, for every other device, the link to it is the class's link. The
// link from a class's only member to the class itself is open until a second member settles it.
// Only devices of one topology group are compared: others rarely match, and looking would cost
// devices^3.
Destinations::Destinations(const cost::Problem& problem) : problem_(problem) {
  const std::size_t devices = problem.device_count();
  std::vector<std::vector<const Link*>> columns;  // by class, then by source; null: open
  std::vector<std::vector<std::uint32_t>> classes_in_group(problem.topology().groups().size());
  class_of_.resize(devices);
  for (std::size_t d = 0; d < devices; ++d) {
    const DeviceId to = DeviceId::of(d);
    auto& candidates = classes_in_group[problem.topology().device(to).group];
    const auto matches = [&](std::uint32_t c) {
      for (std::size_t q = 0; q < devices; ++q) {
        const Link* link = columns[c][q];
        if (q != d && link && !same(*link, problem.link(DeviceId::of(q), to))) return false;
      }
      return true;
    };
    const auto found = std::find_if(candidates.begin(), candidates.end(), matches);
    if (found == candidates.end()) {
      candidates.push_back(static_cast<std::uint32_t>(columns.size()));
      class_of_[d] = candidates.back();
      columns.emplace_back(devices, nullptr);
    } else {
      class_of_[d] = *found;
    }
    for (std::size_t q = 0; q < devices; ++q) {
      const Link*& link = columns[class_of_[d]][q];
      if (q != d && !link) link = &problem.link(DeviceId::of(q), to);
    }
  }
  classes_ = columns.size();
  links_.resize(devices * classes_);
  for (std::size_t q = 0; q < devices; ++q) {
    for (std::size_t c = 0; c < classes_; ++c) {
      // Still open: a class of one, as seen from itself. Its figure is never used.
      links_[q * classes_ + c] =
          columns[c][q] ? columns[c][q] : &problem.link(DeviceId::of(q), DeviceId::of(q));
    }
  }
}

DataArrival::DataArrival(const Destinations& destinations) : destinations_(destinations) {
  by_class_.resize(destinations.class_count());
  by_device_.resize(destinations.problem().device_count());
}

double DataArrival::time_on(DeviceId device) const {
  double latest = 0.0;
  for (const Source& source : sources_) {
    double time = source.time;
    if (source.device != device) {
      time += destinations_.problem().transfer_time(source.by_bytes, source.amount, source.device,
                                                    device);
    }
    latest = std::max(latest, time);
  }
  return latest;
}

std::span<const double> DataArrival::at_devices(NodeId node, std::span<const DeviceId> device,
                                                std::span<const double> end) {
  const cost::Problem& problem = destinations_.problem();
  sources_.clear();
  for (const std::uint32_t position : problem.awaited_edges(node)) {
    const cost::Problem::Edge& edge = problem.edges()[position];
    const NodeId producer = problem.graph().producer(edge.tensor);
    sources_.push_back({producer.valid() ? device[producer.index()] : problem.home(edge.tensor),
                        problem.transfer_by_bytes(edge.tensor),
                        producer.valid() ? end[producer.index()] : 0.0, edge.amount});
  }
  if (sources_.empty()) {
    std::fill(by_device_.begin(), by_device_.end(), 0.0);
    return by_device_;
  }
  // First the times as if no source were on the device itself.
  for (std::uint32_t c = 0; c < by_class_.size(); ++c) {
    double latest = 0.0;
    for (const Source& source : sources_) {
      double time = source.time + source.amount;
      if (source.by_bytes) {
        const Link& link = destinations_.link(source.device, c);
        time = source.time + (link.latency_seconds + source.amount / link.bandwidth);
      }
      latest = std::max(latest, time);
    }
    by_class_[c] = latest;
  }
  for (std::size_t d = 0; d < by_device_.size(); ++d) {
    by_device_[d] = by_class_[destinations_.class_of(DeviceId::of(d))];
  }
  // … then right on the devices that hold an input. A negative mark avoids doing one twice.
  for (const Source& source : sources_) by_device_[source.device.index()] = -1.0;
  for (const Source& source : sources_) {
    double& time = by_device_[source.device.index()];
    if (time < 0.0) time = time_on(source.device);
  }
  return by_device_;
}

}  // namespace doppler::place
