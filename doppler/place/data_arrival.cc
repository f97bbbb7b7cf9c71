#include "doppler/place/data_arrival.h"

#include <algorithm>

namespace doppler::place {
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
  // As if nothing were local …
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
