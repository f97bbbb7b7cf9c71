// Computes what a policy knows of a problem before anything is placed: features of the nodes, and
// the paths along which it looks ahead and back. Features are scaled by the graph's own totals, so
// that one set of weights serves graphs and machines of any size.
//
// Trained parameters belong to positions of features, and policy files hold a hash of their names.
// So neither may change unless policies are trained again.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/nn/layers.h"
#include "doppler/nn/matrix.h"

namespace doppler::policy {

// Lists the features that a policy sees of a node. "Mean" times are means over the devices; the
// critical path is the longest one in mean times.
enum class NodeFeature : std::size_t {
  kCompute,       // log(1 + mean compute time / time unit)
  kBLevel,        // longest path from the node to an exit, over the critical path
  kTLevel,        // longest path from an entry to the node, over the critical path
  kSlack,         // 1 - kBLevel - kTLevel
  kTrafficIn,     // log(1 + mean transfer time of its inputs / time unit)
  kTrafficOut,    // log(1 + mean transfer time of its outputs / time unit)
  kTrafficShare,  // transfer time of its outputs, over that and its compute time
  kInputs,        // log(1 + number of tensors it waits for)
  kConsumers,     // log(1 + number of edges to consumers)
  kDepth,         // its level, over the number of levels
  // The rest are the same for all nodes of a problem, but for kDeviceSpread.
  kParallelism,   // log(1 + total compute time / critical path) - log(devices)
  kDevices,       // log2(devices) / 4
  kGraphTraffic,  // log(1 + total transfer time / total compute time)
  kSharedLinks,   // 1 if transfers share channels, else 0
  kDeviceSpread,  // log(slowest / fastest compute time over the devices allowed)
  // Bytes of all tensors over the memory of all devices, at most 2; 0 if memory cannot bind.
  kMemoryPressure,
};
inline constexpr std::size_t kNodeFeatures = 16;

// Returns the name of the feature at a position. REQUIRES: position < kNodeFeatures.
std::string_view node_feature_name(std::size_t position);
// Returns the column of NodeFeatures::values() that holds the feature.
constexpr Eigen::Index column_of(NodeFeature feature) {
  return static_cast<Eigen::Index>(feature);
}

// The features of all nodes of one problem. Times are in the problem's unit, seconds unless the
// graph gives its own. Immutable and thread safe.
class NodeFeatures {
 public:
  // `problem` must outlive this object. Throws ParameterError if it has too many nodes times
  // devices.
  explicit NodeFeatures(const cost::Problem& problem);

  const cost::Problem& problem() const { return problem_; }
  std::size_t node_count() const { return problem_.node_count(); }

  // Returns kNodeFeatures numbers for each node, in its row.
  const nn::Matrix<float>& values() const { return values_; }
  // Return, by node, the distinct nodes that produce what it waits for, and those that wait for
  // what it produces.
  const nn::Neighbours& producers() const { return producers_; }
  const nn::Neighbours& consumers() const { return consumers_; }
  // Return, by node, the next node on the longest path to an exit and the previous one on the
  // longest path from an entry, in mean costs. At the end of the path that is the node itself.
  const std::vector<std::uint32_t>& ahead() const { return ahead_; }
  const std::vector<std::uint32_t>& behind() const { return behind_; }

  // Returns the mean over the nodes of their mean compute time: the unit of all times
  // that a policy sees. Always positive.
  double time_unit() const { return time_unit_; }
  // Returns the sum over the nodes of their mean compute time.
  double total_compute() const { return total_compute_; }
  // Returns the share of latencies in the time of all transfers, from 0 to 1.
  double latency_share() const {
    return total_traffic_ > 0.0 ? total_latency_ / total_traffic_ : 0.0;
  }
  // Returns the longest path of the graph in mean costs.
  double critical_path() const { return critical_; }
  // Return, by node and in mean costs: its compute time, the transfer times of its inputs and of
  // its outputs, the longest path to an exit with the node itself, and the longest path from an
  // entry to it.
  const std::vector<double>& compute() const { return compute_; }
  const std::vector<double>& traffic_in() const { return traffic_in_; }
  const std::vector<double>& traffic_out() const { return traffic_out_; }
  const std::vector<double>& b_levels() const { return b_levels_; }
  const std::vector<double>& t_levels() const { return t_levels_; }

 private:
  void find_levels();
  void fill_values();

  const cost::Problem& problem_;
  std::vector<double> compute_, b_levels_, t_levels_, traffic_in_, traffic_out_;  // by node
  double time_unit_ = 1.0, total_compute_ = 0.0, total_traffic_ = 0.0, total_latency_ = 0.0;
  double critical_ = 0.0;  // the longest path
  std::vector<std::uint32_t> ahead_, behind_;
  nn::Neighbours producers_, consumers_;
  nn::Matrix<float> values_;
};

}  // namespace doppler::policy
