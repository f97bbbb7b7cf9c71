#include "doppler/schedule/critical_chain.h"

#include <algorithm>

#include "doppler/base/csr.h"

namespace doppler::schedule {
namespace {

using Kind = ChainStep::Kind;
using Reason = ChainStep::Reason;

// A node or a transfer of the run.
struct Item {
  Kind kind = Kind::kIdle;  // kIdle: none
  std::uint32_t index = 0;  // of the node, or in Timeline::transfers
};

// Lists what took up one resource (or all of them), by its end. Items that took no time are left
// out: they delay nobody, and every step back over a resource then leads to an earlier time, so
// that the walk ends.
class Occupants {
 public:
  void add(Item item, double start, double end) {
    if (start < end) entries_.push_back({end, item});
  }
  void sort() {
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.end < b.end; });
  }
  struct Entry {
    double end;
    Item item;
  };
  // The first of those that ended last, at `time` or before; null where there is none.
  const Entry* last_until(double time) const {
    const auto earlier = [](const Entry& entry, double t) { return entry.end < t; };
    auto after = std::upper_bound(entries_.begin(), entries_.end(), time,
                                  [](double t, const Entry& entry) { return t < entry.end; });
    if (after == entries_.begin()) return nullptr;
    return &*std::lower_bound(entries_.begin(), after, std::prev(after)->end, earlier);
  }

 private:
  std::vector<Entry> entries_;
};

class ChainFinder {
 public:
  ChainFinder(const cost::Problem& problem, const Timeline& timeline)
      : problem_(problem), timeline_(timeline) {
    const bool channels = problem.links() == cost::LinkMode::kChannel;
    by_device_.resize(problem.device_count());
    by_channel_.resize(channels ? problem.channel_count() : 0);
    const bool barriers = timeline.mode == Mode::kSynchronous;
    for (std::uint32_t v = 0; v < timeline.nodes.size(); ++v) {
      const NodeRun& run = timeline.nodes[v];
      by_device_[timeline.device[v].index()].add({Kind::kCompute, v}, run.start, run.end);
      if (barriers) all_.add({Kind::kCompute, v}, run.start, run.end);
    }
    for (std::uint32_t i = 0; i < timeline.transfers.size(); ++i) {
      const TransferRun& run = timeline.transfers[i];
      if (barriers) all_.add({Kind::kTransfer, i}, run.start, run.end);
      if (!channels) continue;
      for (const ChannelId channel : problem.route(run.from, run.to)) {
        by_channel_[channel.index()].add({Kind::kTransfer, i}, run.start, run.end);
      }
    }
    for (Occupants& occupants : by_device_) occupants.sort();
    for (Occupants& occupants : by_channel_) occupants.sort();
    all_.sort();
    transfers_of_ = Csr<std::uint32_t>::build(problem.tensor_count(), [&](const auto& visit) {
      for (std::uint32_t i = 0; i < timeline.transfers.size(); ++i) {
        visit(timeline.transfers[i].tensor.index(), i);
      }
    });
  }

  CriticalChain find() {
    CriticalChain chain;
    double now = timeline_.makespan;  // everything from here on is covered
    Cause cause = last_of_all();
    while (cause.item.kind != Kind::kIdle) {
      const double begin = start_of(cause.item), end = end_of(cause.item);
      if (end < now) chain.steps.push_back({.begin = end, .end = now});
      ChainStep step{.kind = cause.item.kind, .reason = cause.reason, .begin = begin, .end = end};
      if (step.kind == Kind::kCompute) {
        step.node = NodeId(cause.item.index);
      } else {
        step.transfer = cause.item.index;
      }
      chain.steps.push_back(step);
      now = begin;
      cause = step.kind == Kind::kCompute ? before_node(step.node) : before_transfer(step.transfer);
    }
    if (now > 0.0) chain.steps.push_back({.begin = 0.0, .end = now});
    std::reverse(chain.steps.begin(), chain.steps.end());
    add_up(chain);
    return chain;
  }

 private:
  // Names what ended last of the things that an item waited for.
  struct Cause {
    Item item;
    Reason reason = Reason::kIdle;
    double end = -1.0;

    // Earlier candidates win ties.
    void consider(Item candidate, Reason why, double candidate_end, double limit) {
      if (candidate_end > limit || candidate_end <= end) return;
      *this = {candidate, why, candidate_end};
    }
    void consider(const Occupants& occupants, Reason why, double limit) {
      if (const auto* entry = occupants.last_until(limit))
        consider(entry->item, why, entry->end, limit);
    }
  };

  double start_of(Item item) const {
    return item.kind == Kind::kCompute ? timeline_.nodes[item.index].start
                                       : timeline_.transfers[item.index].start;
  }
  double end_of(Item item) const {
    return item.kind == Kind::kCompute ? timeline_.nodes[item.index].end
                                       : timeline_.transfers[item.index].end;
  }

  Cause last_of_all() const {
    Cause last;
    for (std::uint32_t v = 0; v < timeline_.nodes.size(); ++v) {
      const Item item{Kind::kCompute, v};
      last.consider(item, Reason::kData, end_of(item), timeline_.makespan);
    }
    // Only the delivery of an updated parameter ends after every node.
    for (std::uint32_t i = 0; i < timeline_.transfers.size(); ++i) {
      const Item item{Kind::kTransfer, i};
      last.consider(item, Reason::kData, end_of(item), timeline_.makespan);
    }
    return last;
  }

  void consider_producer(Cause& cause, TensorId tensor, double limit) const {
    const NodeId producer = problem_.graph().producer(tensor);
    if (!producer.valid()) return;  // an input at its home, there from time 0
    const Item item{Kind::kCompute, producer.value()};
    cause.consider(item, Reason::kData, end_of(item), limit);
  }

  Cause before_node(NodeId node) const {
    const double start = timeline_.nodes[node.index()].start;
    const DeviceId here = timeline_.device[node.index()];
    Cause cause;
    for (const TensorId tensor : problem_.awaited(node)) {
      const NodeId producer = problem_.graph().producer(tensor);
      const DeviceId source =
          producer.valid() ? timeline_.device[producer.index()] : problem_.home(tensor);
      if (source == here) {
        consider_producer(cause, tensor, start);
        continue;
      }
      for (const std::uint32_t i : transfers_of_[tensor.index()]) {
        const TransferRun& transfer = timeline_.transfers[i];
        if (transfer.to != here) continue;
        if (transfer.consumer.valid() && transfer.consumer != node) continue;
        cause.consider({Kind::kTransfer, i}, Reason::kData, transfer.end, start);
      }
    }
    cause.consider(by_device_[here.index()], Reason::kQueue, start);
    cause.consider(all_, Reason::kBarrier, start);
    return cause;
  }

  Cause before_transfer(std::uint32_t index) const {
    const TransferRun& transfer = timeline_.transfers[index];
    Cause cause;
    consider_producer(cause, transfer.tensor, transfer.start);
    if (!by_channel_.empty()) {
      for (const ChannelId channel : problem_.route(transfer.from, transfer.to)) {
        cause.consider(by_channel_[channel.index()], Reason::kQueue, transfer.start);
      }
    }
    cause.consider(all_, Reason::kBarrier, transfer.start);
    return cause;
  }

  static void add_up(CriticalChain& chain) {
    for (const ChainStep& step : chain.steps) {
      const double time = step.end - step.begin;
      const bool needed = step.reason == Reason::kData;
      switch (step.kind) {
        case Kind::kCompute:
          (needed ? chain.compute : chain.device_queue) += time;
          break;
        case Kind::kTransfer:
          (needed ? chain.transfer : chain.channel_queue) += time;
          break;
        case Kind::kIdle:
          chain.idle += time;
          break;
      }
    }
  }

  const cost::Problem& problem_;
  const Timeline& timeline_;
  std::vector<Occupants> by_device_;
  std::vector<Occupants> by_channel_;  // empty with free links
  Occupants all_;                      // synchronous runs only
  Csr<std::uint32_t> transfers_of_;    // by tensor
};

}  // namespace

CriticalChain critical_chain(const cost::Problem& problem, const Timeline& timeline) {
  return ChainFinder(problem, timeline).find();
}

}  // namespace doppler::schedule
