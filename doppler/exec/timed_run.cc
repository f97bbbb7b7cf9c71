#include "doppler/exec/timed_run.h"

#include <algorithm>

#include "doppler/base/error.h"

namespace doppler::exec {

TimedRun::TimedRun(const cost::Problem& problem, const schedule::Placement& placement,
                   const Wiring& wiring, Core& core, Host& host, std::uint64_t seed)
    : nodes_(problem.node_count()),
      placement_(placement),
      core_(core),
      host_(host),
      busy_(problem.device_count(), 0) {
  ends_.reserve(problem.device_count() + wiring.transfers().size());
  core_.begin(seed);
}

void TimedRun::push(double moment, std::size_t id) {
  ends_.push_back({moment, id});
  std::push_heap(ends_.begin(), ends_.end(), later);
}

std::optional<double> TimedRun::next() const {
  if (!begun_) return 0.0;
  if (ends_.empty()) return std::nullopt;
  return ends_.front().moment;
}

void TimedRun::end_due() {
  while (!ends_.empty() && ends_.front().moment == now_) {
    std::pop_heap(ends_.begin(), ends_.end(), later);
    const std::size_t id = ends_.back().id;
    ends_.pop_back();
    if (id < nodes_) {
      const NodeId node = NodeId::of(id);
      if (!host_.node_ends(node, now_)) continue;
      busy_[placement_.device[id].index()] = 0;
      core_.node_ended(node, now_);
    } else {
      const auto transfer = static_cast<TransferIndex>(id - nodes_);
      if (!host_.transfer_ends(transfer, now_)) continue;
      --moving_;
      core_.transfer_ended(transfer, now_);
    }
  }
}

void TimedRun::go_on() {
  const std::optional<double> moment = next();
  DOPPLER_CHECK(moment.has_value() && *moment >= now_);
  now_ = *moment;
  begun_ = true;
}

void TimedRun::end_only() {
  go_on();
  end_due();
}

void TimedRun::advance() {
  go_on();
  // Ends due now, then transfers, until nothing changes; then every free device.
  bool again = true;
  while (again) {
    again = false;
    end_due();
    while (const auto transfer = core_.start_transfer()) {
      const double end = now_ + host_.transfer_starts(*transfer, moving_++, now_);
      push(end, nodes_ + *transfer);
      again |= end == now_;
    }
  }
  touched_.assign(core_.touched().begin(), core_.touched().end());
  core_.forget_touched();
  host_.copies_released(core_.released());
  core_.forget_released();
  for (const DeviceId device : touched_) {
    if (busy_[device.index()]) continue;
    const NodeId node = core_.start_node(device);
    if (!node.valid()) continue;
    busy_[device.index()] = 1;
    push(now_ + host_.node_starts(node, device, now_), node.index());
  }
}

}  // namespace doppler::exec
