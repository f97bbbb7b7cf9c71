// Holds what the parts of the checker share: the list of violations, and the facts that follow from
// a timeline. Internal to checker*.cc.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/schedule/checker.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

// The violations found so far, in words. Those beyond the first kMostListed are dropped.
class Violations {
 public:
  static constexpr std::size_t kMostListed = 12;

  // Adds the message that `text` returns. `text` is not called once the list is full.
  template <class Text>
  void add(const Text& text) {
    if (list_.size() < kMostListed) list_.push_back(text());
  }
  bool empty() const { return list_.empty(); }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

// The timeline under test with everything that the rules derive from it. Times are in the problem's
// unit.
//
// A node or transfer is `early` where it was certainly ready before anything started at the moment
// at which it became ready. Otherwise something of zero duration happened at that same moment, and
// the timeline alone does not tell what started before and what after it; no rule is applied to
// such an order.
struct Facts {
  const cost::Problem& problem;
  const Timeline& timeline;
  const CheckOptions& options;
  Violations& violations;

  std::vector<double> node_ready = {};
  std::vector<std::uint8_t> node_early = {};
  std::vector<double> transfer_ready = {};  // by position in timeline.transfers
  std::vector<std::uint8_t> transfer_early = {};
  // Filled with channel links only: the highest priority among the transfer's consumers on its
  // destination. An update that no node waits for has the lowest.
  std::vector<double> transfer_priority = {};
  // These three are filled for synchronous runs only.
  std::vector<std::uint32_t> node_level = {};
  // The times from which the transfers of each level may start, and those after the last level.
  std::vector<double> phase_start = {};
  std::vector<std::uint32_t> transfer_phase = {};

  // Returns the device that makes the tensor or is its home; invalid where the tensor is on every
  // device that uses it.
  DeviceId source(TensorId tensor) const {
    const NodeId producer = problem.graph().producer(tensor);
    return producer.valid() ? timeline.device[producer.index()] : problem.home(tensor);
  }
  // Returns when the tensor is complete on that device.
  double complete(TensorId tensor) const {
    const NodeId producer = problem.graph().producer(tensor);
    return producer.valid() ? timeline.nodes[producer.index()].end : 0.0;
  }
  // Returns whether a is before b by more than the tolerance.
  bool before(double a, double b) const { return a < b - options.tolerance; }
  bool differ(double a, double b) const { return before(a, b) || before(b, a); }

  std::string name(NodeId node) const;
  std::string name(DeviceId device) const;
  std::string name(ChannelId channel) const;
  std::string name(const TransferRun& run) const;
};

// Compares the transfers that took place with those that the placement asks for, and the starts of
// nodes with the arrivals of their inputs. Fills the fields about nodes and transfers. In
// checker_transfers.cc.
void check_transfers(Facts& facts);

// These are three steps for synchronous runs: find the levels of the graph; once the transfers are
// checked, find the phases between barriers and when the transfers are ready; check that the
// barriers keep the phases apart. In checker.cc.
void find_levels(Facts& facts);
void find_phases(Facts& facts);
void check_levels(const Facts& facts);

// Check that no device or channel idles while something waits for it, and that the choice rule's
// best went first. In checker_order.cc.
void check_node_order(const Facts& facts);
void check_transfer_order(const Facts& facts);

}  // namespace doppler::schedule
