#include "doppler/sim/simulator.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/graph/statistics.h"
#include "doppler/sim/run_state.h"

namespace doppler::sim {
namespace {

using cost::Problem;
using schedule::Choice;
using schedule::Placement;
using schedule::Timeline;
using schedule::TransferRun;

// A transfer that the coming level needs.
struct Move {
  TransferRun run;
  double key;  // larger goes first
  double duration;
};

class SynchronousRun {
 public:
  SynchronousRun(const Problem& problem, const Placement& placement, double barrier_time,
                 const RunOptions& options)
      : problem_(problem),
        placement_(placement),
        barrier_time_(barrier_time),
        options_(options),
        rng_(options.seed),
        moved_(problem.tensor_count()) {
    if (options.jitter > 0.0) jitter_.emplace(options.jitter);
    timeline_.mode = schedule::Mode::kSynchronous;
    timeline_.choice = options.choice;
    timeline_.device = placement.device;
    timeline_.priority = placement.priority;
    timeline_.nodes.resize(problem.node_count());
  }

  Timeline run() {
    const graph::Levels levels = graph::compute_levels(problem_.graph());
    for (std::size_t l = 0; l < levels.depth(); ++l) {
      const std::span<const NodeId> level = levels.nodes[l];
      collect_moves(level);
      move_all();
      now_ += barrier_time_;
      run_level(level);
      now_ += barrier_time_;
    }
    // The last barrier has nothing to wait for but is paid; deliveries of updates may follow it.
    move_all();
    timeline_.makespan = now_;
    return std::move(timeline_);
  }

 private:
  DeviceId source_of(TensorId tensor) const {
    const NodeId producer = problem_.graph().producer(tensor);
    return producer.valid() ? placement_.device[producer.index()] : problem_.home(tensor);
  }

  double transfer_factor(TensorId tensor, DeviceId to) const {
    return jitter_ ? jitter_->factor(options_.seed, transfer_key(tensor.value(), to.value())) : 1.0;
  }

  bool has_moved(TensorId tensor, DeviceId to) const {
    const auto& places = moved_[tensor.index()];
    return std::find(places.begin(), places.end(), to) != places.end();
  }

  void add_move(TensorId tensor, NodeId consumer, DeviceId to, double key, double duration) {
    moves_.push_back({{tensor, consumer, source_of(tensor), to, 0.0, 0.0},
                      key,
                      duration * transfer_factor(tensor, to)});
  }

  // Channel links: one job for all consumers on `to`, now and later.
  void add_job(TensorId tensor, DeviceId from, DeviceId to, double least_duration) {
    double key = -cost::kInfinity, duration = least_duration;
    for (const Problem::Edge& edge : problem_.edges_of(tensor)) {
      if (placement_.device[edge.consumer.index()] != to) continue;
      key = std::max(key, placement_.priority[edge.consumer.index()]);
      duration = std::max(duration, problem_.transfer_time(edge, from, to));
    }
    add_move(tensor, NodeId(), to, key, duration);
  }

  void collect_moves(std::span<const NodeId> level) {
    const bool channels = problem_.links() == cost::LinkMode::kChannel;
    std::vector<std::pair<TensorId, DeviceId>> new_places;
    for (const NodeId node : level) {
      const DeviceId to = placement_.device[node.index()];
      for (const std::uint32_t e : problem_.awaited_edges(node)) {
        const Problem::Edge& edge = problem_.edges()[e];
        const DeviceId from = source_of(edge.tensor);
        if (from == to || has_moved(edge.tensor, to)) continue;
        if (!channels) {
          add_move(edge.tensor, node, to, placement_.priority[node.index()],
                   problem_.transfer_time(edge, from, to));
          new_places.emplace_back(edge.tensor, to);
          continue;
        }
        moved_[edge.tensor.index()].push_back(to);
        add_job(edge.tensor, from, to, 0.0);
      }
    }
    for (const auto& [tensor, to] : new_places) {
      if (!has_moved(tensor, to)) moved_[tensor.index()].push_back(to);
    }
  }

  // Runs the collected transfers from now on; time advances to the end of the last.
  void move_all() {
    if (moves_.empty()) return;
    const bool channels = problem_.links() == cost::LinkMode::kChannel;
    std::sort(moves_.begin(), moves_.end(), [&](const Move& a, const Move& b) {
      if (options_.choice == Choice::kPriority && a.key != b.key) return a.key > b.key;
      if (a.run.tensor != b.run.tensor) return a.run.tensor < b.run.tensor;
      return a.run.to < b.run.to;
    });
    std::vector<std::uint32_t> in_use(problem_.channel_count(), 0);
    const auto route_free = [&](const Move& move) {
      if (!channels) return true;
      for (const ChannelId channel : problem_.route(move.run.from, move.run.to)) {
        if (in_use[channel.index()] >= problem_.channel_capacity(channel)) return false;
      }
      return true;
    };
    const auto occupy = [&](const TransferRun& run, int units) {
      if (!channels) return;
      for (const ChannelId channel : problem_.route(run.from, run.to)) {
        in_use[channel.index()] += static_cast<std::uint32_t>(units);
      }
    };
    std::vector<std::size_t> flying;
    double last = now_;
    while (!moves_.empty() || !flying.empty()) {
      if (options_.choice == Choice::kRandom) rng_.shuffle(moves_);
      std::size_t kept = 0;
      for (Move& move : moves_) {
        if (!route_free(move)) {
          moves_[kept++] = move;
          continue;
        }
        occupy(move.run, +1);
        move.run.start = now_;
        move.run.end = now_ + move.duration;
        last = std::max(last, move.run.end);
        flying.push_back(timeline_.transfers.size());
        timeline_.transfers.push_back(move.run);
      }
      moves_.resize(kept);
      if (flying.empty()) break;
      double next = cost::kInfinity;
      for (const std::size_t i : flying) next = std::min(next, timeline_.transfers[i].end);
      now_ = next;
      std::erase_if(flying, [&](std::size_t i) {
        if (timeline_.transfers[i].end > now_) return false;
        occupy(timeline_.transfers[i], -1);
        return true;
      });
    }
    now_ = last;
  }

  void run_level(std::span<const NodeId> level) {
    std::vector<NodeId> order(level.begin(), level.end());
    std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
      const double x = placement_.priority[a.index()], y = placement_.priority[b.index()];
      if (options_.choice == Choice::kPriority && x != y) return x > y;
      return a < b;
    });
    if (options_.choice == Choice::kRandom) rng_.shuffle(order);
    std::vector<double> free_at(problem_.device_count(), now_);
    for (const NodeId node : order) {
      const DeviceId device = placement_.device[node.index()];
      double duration = problem_.compute_time(node, device);
      if (jitter_) duration *= jitter_->factor(options_.seed, node_key(node.value()));
      double& free = free_at[device.index()];
      timeline_.nodes[node.index()] = {free, free + duration};
      free += duration;
    }
    now_ = *std::max_element(free_at.begin(), free_at.end());
    if (problem_.has_updates()) collect_updates(level);
  }

  // New values of parameters go out with the transfers of the next level.
  void collect_updates(std::span<const NodeId> level) {
    for (const NodeId node : level) {
      const DeviceId from = placement_.device[node.index()];
      for (const TensorId tensor : problem_.graph().outputs(node)) {
        for (const NodeId reader : problem_.update_readers(tensor)) {
          const DeviceId to = placement_.device[reader.index()];
          if (to == from || has_moved(tensor, to)) continue;
          moved_[tensor.index()].push_back(to);
          const double duration = problem_.transfer_time(problem_.transfer_by_bytes(tensor),
                                                         problem_.tensor_amount(tensor), from, to);
          if (problem_.links() == cost::LinkMode::kChannel) {
            add_job(tensor, from, to, duration);
          } else {
            add_move(tensor, NodeId(), to, -cost::kInfinity, duration);
          }
        }
      }
    }
  }

  const Problem& problem_;
  const Placement& placement_;
  double barrier_time_;
  RunOptions options_;
  Rng rng_;
  std::optional<JitterTable> jitter_;
  Timeline timeline_;
  double now_ = 0.0;
  std::vector<Move> moves_;
  std::vector<std::vector<DeviceId>> moved_;  // by tensor: devices that have it besides its source
};

}  // namespace

Timeline run_synchronous(const Problem& problem, const Placement& placement, double barrier_time,
                         const RunOptions& options) {
  return SynchronousRun(problem, placement, barrier_time, options).run();
}

}  // namespace doppler::sim
