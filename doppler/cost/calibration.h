// What runs say of a problem's costs, while they go on.
//
// Every run tells how long nodes and transfers took. Of each node on each device, and of transfers
// between each pair of devices, the middle half of the last kWindow runs counts, so that what is
// wild in few runs changes nothing and what has changed for good is learnt. A device or link that
// differed from what it took before in all of the last kChangeRuns is taken for changed, and what
// was known of it is forgotten.
//
// Placements to come use nodes on devices and links that never ran. So times are taken for
// products: of what ops of a kind take more than the tables say, of what the device does, of what
// the node itself does; and of a link's kind and the link itself. Each factor is drawn towards 1 as
// long as few runs speak for it, and again when those were long ago. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "doppler/base/id.h"
#include "doppler/cost/problem.h"

namespace doppler::cost {

// How a machine differs from the tables of a problem: factors of time, 2 is twice as slow.
struct Corrections {
  std::vector<double> node;      // by node, then device
  std::vector<double> transfer;  // by pair of devices: from, then to. Not of given transfer times
};

// In the problem's unit.
struct NodeObservation {
  NodeId node;
  DeviceId device;
  double time;
};
struct TransferObservation {
  TensorId tensor;
  DeviceId from, to;
  double time;
};
// Of one run.
struct Observations {
  std::vector<NodeObservation> nodes = {};
  std::vector<TransferObservation> transfers = {};
};

class Calibration {
 public:
  static constexpr std::size_t kWindow = 15, kChangeRuns = 5;
  // As a difference of logarithms; below it the window follows soon enough.
  static constexpr double kNodeChange = 0.2, kLinkChange = 0.5;

  // Throws ParameterError where there are too many nodes and devices to tell all apart.
  explicit Calibration(std::shared_ptr<const Problem> problem);

  // One run more. Times that are not above 0, of nodes that the tables give none, and transfers
  // whose times are given with the graph say nothing.
  void add(const Observations& run);

  std::uint64_t runs() const { return runs_; }
  // How often a device or link was found to have changed.
  std::uint64_t changes() const { return changes_; }
  Corrections corrections() const;
  // The problem with these.
  std::shared_ptr<const Problem> problem() const { return problem_->corrected(corrections()); }

  // All that was seen, as numbers that restore() takes; for checkpoints.
  std::vector<double> state() const;
  // Throws InputError where these are not numbers of a calibration of this problem.
  void restore(std::span<const double> state);

 private:
  // The last few values of something, as ratios to the tables.
  struct Window {
    std::vector<double> values;  // a ring once it is full
    std::size_t next = 0;
    std::uint64_t last_run = 0;

    void add(double value, std::size_t size, std::uint64_t run);
    double log_mean() const;
  };
  // Differences of logarithms from what was known, by run.
  struct Drift {
    std::vector<double> values;
    bool add(double difference, double limit);  // true where it has changed
  };
  double weight(const Window& window) const;

  std::shared_ptr<const Problem> problem_;
  std::size_t devices_;
  std::uint64_t runs_ = 0, changes_ = 0;
  std::map<std::uint64_t, Window> nodes_;  // by node times devices plus device
  std::map<std::uint64_t, Window> links_;  // by pair: medians of runs
  std::vector<Drift> device_drift_;        // by device
  std::map<std::uint64_t, Drift> link_drift_;
};

}  // namespace doppler::cost
