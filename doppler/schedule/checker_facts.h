// What the parts of the checker share: the facts that follow from a timeline, and the list of
// violations. Internal to checker*.cc.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/schedule/checker.h"
#include "doppler/schedule/timeline.h"

namespace doppler::schedule {

class Violations {
 public:
  static constexpr std::size_t kMost = 12;

  // `text` makes the message; it is not called once the list is full.
  template <class Text>
  void add(const Text& text) {
    if (list_.size() < kMost) list_.push_back(text());
  }
  bool empty() const { return list_.empty(); }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

// The timeline under test with everything the rules derive from it. Times in the problem's unit.
//
// A node or transfer is `early` where it was certainly ready before anything started at the moment
// it became ready. Otherwise something of zero duration at that same moment came between, and the
// timeline alone does not tell what started before and what after; no rule is judged on such an
// order.
struct Facts {
  const cost::Problem& problem;
  const Timeline& timeline;
  const CheckOptions& options;
  Violations& violations;

  std::vector<double> node_ready = {};
  std::vector<std::uint8_t> node_early = {};
  std::vector<double> transfer_ready = {};  // by position in timeline.transfers
  std::vector<std::uint8_t> transfer_early = {};
  // Channel links: the highest among its consumers there; an update that no node waits for goes
  // last.
  std::vector<double> transfer_priority = {};
  // Synchronous runs only.
  std::vector<std::uint32_t> node_level = {};
  std::vector<double> phase_start =
      {};  // of each level's transfers; one more for after the last level
  std::vector<std::uint32_t> transfer_phase = {};

  // Where the tensor is made or lives; invalid where it is on every device that uses it.
  DeviceId source(TensorId tensor) const {
    const NodeId producer = problem.graph().producer(tensor);
    return producer.valid() ? timeline.device[producer.index()] : problem.home(tensor);
  }
  // When the tensor is complete there.
  double complete(TensorId tensor) const {
    const NodeId producer = problem.graph().producer(tensor);
    return producer.valid() ? timeline.nodes[producer.index()].end : 0.0;
  }
  // a is before b by more than the clock's resolution.
  bool before(double a, double b) const { return a < b - options.tolerance; }
  bool differ(double a, double b) const { return before(a, b) || before(b, a); }

  std::string name(NodeId node) const;
  std::string name(DeviceId device) const;
  std::string name(ChannelId channel) const;
  std::string name(const TransferRun& run) const;
};

// checker_transfers.cc: compares the transfers that took place with those that the placement asks
// for, and nodes' starts with arrivals; fills the fields of nodes and transfers.
void check_transfers(Facts& facts);

// checker_levels.cc, for synchronous runs: levels from the graph; with the transfers checked, the
// phases between barriers and the transfers' ready times; and that these keep apart what they must.
void find_levels(Facts& facts);
void find_phases(Facts& facts);
void check_levels(const Facts& facts);

// checker_order.cc: no resource idles while something waits for it, and the best went first.
void check_node_order(const Facts& facts);
void check_transfer_order(const Facts& facts);

}  // namespace doppler::schedule
