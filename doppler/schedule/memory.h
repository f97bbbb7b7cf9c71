// Computes from the Timeline of a run how much memory it takes on each device (docs/semantics.md,
// "Memory").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "doppler/base/csr.h"
#include "doppler/cost/problem.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

// One change of a device's occupation: from `time` on it holds `bytes`.
struct MemorySample {
  double time;
  double bytes;
};

// Measures one timeline after another. It keeps its buffers, so that measuring many timelines does
// not allocate. Not thread safe.
class MemoryMeter {
 public:
  // `problem` must outlive the meter.
  explicit MemoryMeter(const cost::Problem& problem);

  void measure(const Timeline& timeline);

  // All that follows is about the timeline that was measured last. Peaks are by device.
  std::span<const double> peak_bytes() const { return peak_; }
  std::span<const double> peak_time() const { return peak_time_; }
  // Returns the bytes above capacity, summed over devices; 0 where the run fits.
  double excess_bytes() const { return excess_; }
  // Returns the occupation of one device over time, for traces.
  std::vector<MemorySample> samples(DeviceId device) const;
  // Returns the tensors on a device at the time of its peak, the largest first.
  std::vector<TensorId> tensors_at_peak(DeviceId device) const;

 private:
  static constexpr std::uint32_t kNoSlot = 0xffffffffu;

  // The time [begin, end] during which a tensor is on a device.
  struct Occupation {
    TensorId tensor;
    DeviceId device;
    double begin;
    double end;
  };
  struct Event {
    double time;
    double bytes;        // > 0 allocates
    std::uint8_t phase;  // the order at one time, see memory.cc
  };

  void collect(const Timeline& timeline);
  void collect_tensor(const Timeline& timeline, TensorId tensor,
                      std::span<const std::uint32_t> transfers);
  void mark_holders(const Timeline& timeline, TensorId parameter, std::uint8_t mark);
  std::span<const Occupation> occupations_on(DeviceId device) const;
  // Appends the events of a device in the order in which they happen.
  void append_events(DeviceId device, std::vector<Event>& events) const;

  const cost::Problem& problem_;
  Csr<NodeId> updaters_;  // by parameter: the nodes that overwrite it

  std::vector<Occupation> occupations_, by_device_;
  std::vector<std::uint32_t> device_offsets_;  // of by_device_
  std::vector<Event> events_;
  std::vector<double> peak_, peak_time_;
  double excess_ = 0.0;

  // Buffers of collect(), kept so that nothing is allocated.
  std::vector<std::uint32_t> transfer_offsets_, transfers_by_tensor_;
  std::vector<std::uint32_t> slot_of_;  // by device: where the current tensor's occupation is
  std::vector<std::uint8_t> holds_parameter_;  // by device
};

// Returns a sentence about the worst device, such as "gpu2 needs 18.2 GiB at 1.3 ms but has 16.0
// GiB; the largest are w1 (4.0 GiB), …"; empty where the run fits.
std::string explain_excess(const cost::Problem& problem, const MemoryMeter& meter);

}  // namespace doppler::schedule
