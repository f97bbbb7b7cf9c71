#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

#include "doppler/schedule/checker_facts.h"

namespace doppler::schedule {
namespace {

using cost::kInfinity;
using cost::LinkMode;
using cost::Problem;

class TransferRules {
 public:
  explicit TransferRules(Facts& facts)
      : facts_(facts),
        problem_(facts.problem),
        timeline_(facts.timeline),
        by_key_(timeline_.transfers.size()),
        expected_(timeline_.transfers.size(), 0) {
    std::iota(by_key_.begin(), by_key_.end(), 0u);
    std::sort(by_key_.begin(), by_key_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    facts_.transfer_priority.assign(by_key_.size(), -kInfinity);
    facts_.node_ready.assign(problem_.node_count(), 0.0);
    facts_.node_early.assign(problem_.node_count(), 1);
    for (const TransferRun& run : timeline_.transfers) {
      facts_.transfer_ready.push_back(facts_.complete(run.tensor));
      facts_.transfer_early.push_back(complete_early(run.tensor));
    }
  }

  void check() {
    for (std::size_t t = 0; t < problem_.tensor_count(); ++t) check_tensor(TensorId::of(t));
    for (std::uint32_t i = 0; i < by_key_.size(); ++i) {
      const TransferRun& run = timeline_.transfers[i];
      if (!expected_[i]) {
        facts_.violations.add([&] { return facts_.name(run) + " was not needed"; });
      } else if (run.from != facts_.source(run.tensor)) {
        facts_.violations.add([&] {
          return fmt::format("{} came from {}, not from where the tensor was made",
                             facts_.name(run), facts_.name(run.from));
        });
      } else if (facts_.before(run.start, facts_.complete(run.tensor))) {
        facts_.violations.add([&] {
          return fmt::format("{} started at {}, before the tensor was complete at {}",
                             facts_.name(run), run.start, facts_.complete(run.tensor));
        });
      }
    }
  }

 private:
  using Key = std::tuple<TensorId, DeviceId, NodeId>;

  // A transfer that the placement asks for.
  struct Demand {
    DeviceId to;
    NodeId consumer;  // free links: each consumer separately
    double amount;    // bytes or time
    double priority;
  };

  Key key(std::uint32_t i) const {
    const TransferRun& run = timeline_.transfers[i];
    return {run.tensor, run.to, run.consumer};
  }
  std::span<const std::uint32_t> find(const Key& first, const Key& last) const {
    const auto low = std::partition_point(by_key_.begin(), by_key_.end(),
                                          [&](std::uint32_t i) { return key(i) < first; });
    const auto high =
        std::partition_point(low, by_key_.end(), [&](std::uint32_t i) { return key(i) <= last; });
    return {low, high};
  }
  std::span<const std::uint32_t> find(TensorId tensor, DeviceId to, NodeId consumer) const {
    return find({tensor, to, consumer}, {tensor, to, consumer});
  }
  // Whoever the consumer; an invalid id is larger than all others.
  std::span<const std::uint32_t> find(TensorId tensor, DeviceId to) const {
    return find({tensor, to, NodeId(0)}, {tensor, to, NodeId()});
  }

  // Complete before anything started at that moment.
  bool complete_early(TensorId tensor) const {
    const NodeId producer = problem_.graph().producer(tensor);
    if (!producer.valid()) return true;
    const NodeRun& run = timeline_.nodes[producer.index()];
    return run.start < run.end;
  }

  void check_tensor(TensorId tensor) {
    const DeviceId source = facts_.source(tensor);
    if (!source.valid()) return;
    collect_demands(tensor, source);
    for (const Demand& demand : demands_) {
      check_demand(tensor, demand,
                   problem_.transfer_time(problem_.transfer_by_bytes(tensor), demand.amount, source,
                                          demand.to));
    }
    for (const Problem::Edge& edge : problem_.edges_of(tensor)) {
      if (timeline_.device[edge.consumer.index()] == source) {
        arrive(edge.consumer, facts_.complete(tensor), complete_early(tensor));
      } else {
        arrive_by_transfer(edge);
      }
    }
  }

  void collect_demands(TensorId tensor, DeviceId source) {
    const bool one_per_device = problem_.links() == LinkMode::kChannel;
    demands_.clear();
    for (const Problem::Edge& edge : problem_.edges_of(tensor)) {
      const DeviceId to = timeline_.device[edge.consumer.index()];
      if (to == source) continue;
      demands_.push_back({to, one_per_device ? NodeId() : edge.consumer, edge.amount,
                          timeline_.priority[edge.consumer.index()]});
    }
    for (const NodeId reader : problem_.update_readers(tensor)) {
      const DeviceId to = timeline_.device[reader.index()];
      if (to == source) continue;
      demands_.push_back({to, NodeId(), problem_.tensor_amount(tensor), -kInfinity});
    }
    std::sort(demands_.begin(), demands_.end(), [](const Demand& a, const Demand& b) {
      return std::tie(a.to, a.consumer) < std::tie(b.to, b.consumer);
    });
    // One for each destination (and consumer): the largest amount, the highest priority.
    std::size_t kept = 0;
    for (const Demand& demand : demands_) {
      if (kept > 0 && demands_[kept - 1].to == demand.to &&
          demands_[kept - 1].consumer == demand.consumer) {
        Demand& merged = demands_[kept - 1];
        merged.amount = std::max(merged.amount, demand.amount);
        merged.priority = std::max(merged.priority, demand.priority);
      } else {
        demands_[kept++] = demand;
      }
    }
    demands_.resize(kept);
  }

  void check_demand(TensorId tensor, const Demand& demand, double duration) {
    const auto found = find(tensor, demand.to, demand.consumer);
    const bool may_wait = problem_.links() == LinkMode::kChannel ||
                          timeline_.mode == Mode::kSynchronous || !facts_.options.work_conserving;
    for (const std::uint32_t i : found) {
      expected_[i] = 1;
      facts_.transfer_priority[i] = demand.priority;
      const TransferRun& run = timeline_.transfers[i];
      if (facts_.options.durations && facts_.differ(run.end, run.start + duration)) {
        facts_.violations.add([&] {
          return fmt::format("{} ran from {} to {} but takes {}", facts_.name(run), run.start,
                             run.end, duration);
        });
      }
      if (!may_wait && facts_.before(facts_.complete(tensor), run.start)) {
        facts_.violations.add([&] {
          return fmt::format("{} started at {} though nothing held it back after {}",
                             facts_.name(run), run.start, facts_.complete(tensor));
        });
      }
    }
    if (found.size() == 1 || (found.empty() && came_before(tensor, demand))) return;
    facts_.violations.add([&] {
      return fmt::format(
          "{} took place {} times",
          facts_.name({.tensor = tensor, .consumer = {}, .from = {}, .to = demand.to}),
          found.size());
    });
  }

  // In a synchronous run a tensor that moved for an earlier level stays for the later ones.
  bool came_before(TensorId tensor, const Demand& demand) const {
    if (timeline_.mode != Mode::kSynchronous || !demand.consumer.valid()) return false;
    const std::uint32_t level = facts_.node_level[demand.consumer.index()];
    return std::ranges::any_of(find(tensor, demand.to), [&](std::uint32_t i) {
      const NodeId other = timeline_.transfers[i].consumer;
      return !other.valid() || facts_.node_level[other.index()] < level;
    });
  }

  void arrive_by_transfer(const Problem::Edge& edge) {
    const DeviceId to = timeline_.device[edge.consumer.index()];
    const bool own = problem_.links() == LinkMode::kFree && timeline_.mode == Mode::kWorkConserving;
    const auto found = own ? find(edge.tensor, to, edge.consumer) : find(edge.tensor, to);
    if (found.empty()) return;  // reported as missing
    const std::uint32_t first =
        *std::min_element(found.begin(), found.end(), [&](std::uint32_t a, std::uint32_t b) {
          return timeline_.transfers[a].end < timeline_.transfers[b].end;
        });
    // A transfer of zero duration is over before any node starts, unless it began late itself.
    const TransferRun& run = timeline_.transfers[first];
    arrive(edge.consumer, run.end, run.start < run.end || complete_early(edge.tensor));
  }

  void arrive(NodeId consumer, double time, bool early) {
    const double start = timeline_.nodes[consumer.index()].start;
    if (facts_.before(start, time)) {
      facts_.violations.add([&] {
        return fmt::format("{} started at {}, before an input arrived at {}", facts_.name(consumer),
                           start, time);
      });
    }
    double& ready = facts_.node_ready[consumer.index()];
    std::uint8_t& node_early = facts_.node_early[consumer.index()];
    if (time > ready) {
      ready = time;
      node_early = early;
    } else if (time == ready) {
      node_early = node_early && early;
    }
  }

  Facts& facts_;
  const Problem& problem_;
  const Timeline& timeline_;
  std::vector<std::uint32_t> by_key_;  // positions of transfers, sorted
  std::vector<std::uint8_t> expected_;
  std::vector<Demand> demands_;
};

}  // namespace

void check_transfers(Facts& facts) {
  TransferRules(facts).check();
}

}  // namespace doppler::schedule
