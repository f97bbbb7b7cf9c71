// Learning of a machine's real costs from its runs: Calibration compares the measured times of
// nodes and transfers with the tables of a problem and yields Corrections, with which
// Problem::corrected() makes a problem that predicts better.
//
// For each node on each device, and for the transfers between each pair of devices, the mean of the
// middle half of the last kWindow measurements counts. So a few wild runs change nothing, and a
// lasting change is learnt. A device or link whose times differed in one direction from what was
// known, in each of the last kChangeRuns runs, is taken to have changed: what was known of it is
// forgotten.
//
// Later placements will use pairs of node and device, and links, that never ran. So each factor of
// a node's time is taken to be a product of three: one for the op kind on the kind of device, one
// for the device and one for the node. That of a transfer is a product of one for the kind of link
// and one for the link. Each of these is drawn towards 1 as long as few runs support it, and again
// once those runs were long ago.
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

// Factors by which a machine's times differ from the tables of a problem; 2 is twice as slow.
struct Corrections {
  std::vector<double> node;      // by node, then device
  std::vector<double> transfer;  // by sending, then receiving device; not for given transfer times
};

// A measured run of one node on one device. The time is in the problem's unit.
struct NodeObservation {
  NodeId node;
  DeviceId device;
  double time;
};
// A measured transfer of one tensor between two devices. The time is in the problem's unit.
struct TransferObservation {
  TensorId tensor;
  DeviceId from, to;
  double time;
};
// All measurements of one run.
struct Observations {
  std::vector<NodeObservation> nodes = {};
  std::vector<TransferObservation> transfers = {};
};

// The measurements of one problem's runs so far. Not thread safe.
class Calibration {
 public:
  static constexpr std::size_t kWindow = 15, kChangeRuns = 5;
  // The least change of a device or link, as a difference of logarithms, for which what was known
  // is forgotten. Smaller changes are learnt soon enough as the window moves on.
  static constexpr double kNodeChange = 0.2, kLinkChange = 0.5;

  // Throws ParameterError if there are too many pairs of node and device to keep apart.
  explicit Calibration(std::shared_ptr<const Problem> problem);

  // Takes the measurements of one more run. Ignores times that are not above 0, those of nodes or
  // links to which the tables give no time, and transfers whose times are given with the graph.
  void add(const Observations& run);

  std::uint64_t runs() const { return runs_; }
  // Returns how many times a device or link was found to have changed.
  std::uint64_t changes() const { return changes_; }
  // Returns the factors for every node on every device and for every pair of devices.
  Corrections corrections() const;
  // Returns the problem with these corrections applied to its tables.
  std::shared_ptr<const Problem> problem() const { return problem_->corrected(corrections()); }

  // Returns everything that was seen as a list of numbers, for checkpoints.
  std::vector<double> state() const;
  // Replaces everything that was seen by a list that state() returned. Throws InputError if the
  // numbers are not those of a calibration of this problem; the object is then unusable.
  void restore(std::span<const double> state);

 private:
  // The last few measurements of one thing, each as a ratio to the time in the tables.
  struct Window {
    std::vector<double> values;  // a ring once it is full
    std::size_t next = 0;
    std::uint64_t last_run = 0;

    void add(double value, std::size_t size, std::uint64_t run);
    double log_mean() const;
  };
  // Holds how far the last few runs were from what was known of a device or link, as differences of
  // logarithms of times.
  struct Drift {
    std::vector<double> values;
    // Adds the difference of one more run. Returns whether the last kChangeRuns were all above
    // `limit` or all below -limit.
    bool add(double difference, double limit);
  };
  // Returns the number of measurements in the window, discounted by their age.
  double weight(const Window& window) const;

  std::shared_ptr<const Problem> problem_;
  std::size_t devices_;
  std::uint64_t runs_ = 0, changes_ = 0;
  std::map<std::uint64_t, Window> nodes_;      // key: node x devices_ + device
  std::map<std::uint64_t, Window> links_;      // key: from x devices_ + to; the medians of runs
  std::vector<Drift> device_drift_;            // by device
  std::map<std::uint64_t, Drift> link_drift_;  // key: as in links_
};

}  // namespace doppler::cost
