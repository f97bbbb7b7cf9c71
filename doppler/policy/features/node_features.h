// What a policy knows of a problem before anything is placed: features of nodes, scaled by the
// graph's own totals so that one set of weights serves graphs and machines of any size, and the
// ways along which it looks ahead and back. Immutable.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "doppler/cost/problem.h"
#include "doppler/nn/matrix.h"

namespace doppler::policy {

inline constexpr std::size_t kNodeFeatures = 16;
// Positions of those that are used by themselves; all but the first tell what a problem is like as
// a whole.
inline constexpr std::size_t kBLevelFeature = 1, kParallelism = 10, kTraffic = 12,
                             kDeviceSpread = 14;
// Of one feature, for tables.
std::string_view node_feature_name(std::size_t feature);

class NodeFeatures {
 public:
  // `problem` must outlive this object.
  explicit NodeFeatures(const cost::Problem& problem);

  const cost::Problem& problem() const { return problem_; }
  std::size_t node_count() const { return problem_.node_count(); }

  const nn::Matrix<float>& values() const { return values_; }  // a row for each node
  const nn::Neighbours& producers() const { return producers_; }
  const nn::Neighbours& consumers() const { return consumers_; }
  // The next node on the longest way to an exit, and the one before on the longest way from an
  // entry, in mean costs; the node itself at the end of the way.
  const std::vector<std::uint32_t>& ahead() const { return ahead_; }
  const std::vector<std::uint32_t>& behind() const { return behind_; }

  // Mean over the nodes of their mean compute time: the unit of all times a policy sees. Positive.
  double time_unit() const { return time_unit_; }
  double total_compute() const { return total_compute_; }  // over the nodes, mean over devices
  // In mean costs, by node.
  const std::vector<double>& b_levels() const { return b_levels_; }

 private:
  void find_levels();
  void fill_values();

  const cost::Problem& problem_;
  std::vector<double> compute_, b_levels_, t_levels_, traffic_in_, traffic_out_;
  double time_unit_ = 1.0, total_compute_ = 0.0, total_traffic_ = 0.0, critical_ = 0.0;
  std::vector<std::uint32_t> ahead_, behind_;
  nn::Neighbours producers_, consumers_;
  nn::Matrix<float> values_;
};

}  // namespace doppler::policy
