#include "doppler/policy/dual/published_features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "doppler/place/cost_estimates.h"

namespace doppler::policy {
namespace {

// With more different communication times than this, they are rounded to as many steps: each needs
// a matrix of its own.
constexpr std::size_t kMostEdgeValues = 256;

// An edge as one of its nodes sees it.
struct Neighbour {
  std::uint32_t value;  // position among the different communication times
  std::uint32_t node;
};

// Divides the values by the largest.
std::vector<float> scaled(std::vector<double> values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, value);
  std::vector<float> shares;
  for (const double value : values) {
    shares.push_back(largest > 0.0 ? static_cast<float>(value / largest) : 0.0f);
  }
  return shares;
}

// Returns the communication time of each edge of the problem, as a share of the largest.
std::vector<float> edge_times(const cost::Problem& problem) {
  const place::MeanCosts costs(problem);
  std::vector<double> times;
  for (const cost::Problem::Edge& edge : problem.edges()) times.push_back(costs.transfer(edge));
  return scaled(std::move(times));
}

std::vector<float> distinct(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// Numbers the different keys in the order in which they come.
template <class Key>
class Numbering {
 public:
  std::uint32_t of(Key key) {
    return numbers_.emplace(std::move(key), static_cast<std::uint32_t>(numbers_.size()))
        .first->second;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<Key, std::uint32_t> numbers_;
};

// Splits classes by what their nodes see of their neighbours, once for each round.
std::vector<std::uint32_t> refined(std::vector<std::uint32_t> class_of,
                                   const Csr<Neighbour>& neighbours, std::size_t rounds) {
  std::size_t count = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    using Seen = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // value, class
    Numbering<Seen> numbering;
    std::vector<std::uint32_t> next(class_of.size());
    for (std::size_t v = 0; v < class_of.size(); ++v) {
      Seen seen;
      for (const Neighbour& neighbour : neighbours[v]) {
        seen.emplace_back(neighbour.value, class_of[neighbour.node]);
      }
      std::sort(seen.begin(), seen.end());
      seen.emplace_back(class_of[v], 0);
      next[v] = numbering.of(std::move(seen));
    }
    class_of = std::move(next);
    if (numbering.size() == count) break;
    count = numbering.size();
  }
  return class_of;
}

// The end of producers where there are none yet. Times are never negative.
constexpr float kNone = -1.0f;

float& at(float* row, PublishedChoice feature) {
  return row[static_cast<std::size_t>(feature)];
}

}  // namespace

PublishedGraph::PublishedGraph(const NodeFeatures& nodes, std::size_t rounds) {
  const cost::Problem& problem = nodes.problem();
  const std::size_t count = nodes.node_count();
  std::vector<float> times = edge_times(problem);
  std::vector<float> values = distinct(times);
  if (values.size() > kMostEdgeValues) {
    for (float& time : times) {
      time = std::round(time * kMostEdgeValues) / static_cast<float>(kMostEdgeValues);
    }
    values = distinct(times);
  }
  const Csr<Neighbour> neighbours = Csr<Neighbour>::build(count, [&](const auto& visit) {
    for (std::size_t e = 0; e < problem.edges().size(); ++e) {
      const NodeId consumer = problem.edges()[e].consumer;
      const NodeId producer = problem.graph().producer(problem.edges()[e].tensor);
      if (!producer.valid()) continue;
      const auto value = static_cast<std::uint32_t>(
          std::lower_bound(values.begin(), values.end(), times[e]) - values.begin());
      visit(consumer.index(), Neighbour{value, producer.value()});
      visit(producer.index(), Neighbour{value, consumer.value()});
    }
  });

  std::vector<float> columns[kPublishedFeatures];
  const auto column = [&](PublishedFeature feature) -> std::vector<float>& {
    return columns[static_cast<std::size_t>(feature)];
  };
  column(PublishedFeature::kCompute) = scaled(nodes.compute());
  column(PublishedFeature::kTrafficIn) = scaled(nodes.traffic_in());
  column(PublishedFeature::kTrafficOut) = scaled(nodes.traffic_out());
  column(PublishedFeature::kBLevel) = scaled(nodes.b_levels());
  column(PublishedFeature::kTLevel) = scaled(nodes.t_levels());
  Numbering<std::vector<float>> numbering;
  for (std::size_t v = 0; v < count; ++v) {
    std::vector<float> row;
    for (const std::vector<float>& values_of_nodes : columns) row.push_back(values_of_nodes[v]);
    class_of_.push_back(numbering.of(std::move(row)));
  }
  class_of_ = refined(std::move(class_of_), neighbours, rounds);

  // The first node of a class stands for all of them.
  std::vector<std::size_t> first;
  for (std::size_t v = 0; v < count; ++v) {
    if (class_of_[v] == first.size()) first.push_back(v);
  }
  features_.resize(static_cast<Eigen::Index>(first.size()), kPublishedFeatures);
  edges_.resize(values.size());
  std::vector<std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>>> counts(
      values.size());  // by value and target: from which class how many edges come
  for (std::size_t c = 0; c < first.size(); ++c) {
    for (std::size_t f = 0; f < kPublishedFeatures; ++f) {
      features_(static_cast<Eigen::Index>(c), static_cast<Eigen::Index>(f)) = columns[f][first[c]];
    }
    for (const Neighbour& neighbour : neighbours[first[c]]) {
      ++counts[neighbour.value][static_cast<std::uint32_t>(c)][class_of_[neighbour.node]];
    }
  }
  for (std::size_t g = 0; g < values.size(); ++g) {
    edges_[g].value = values[g];
    for (const auto& [target, sources] : counts[g]) edges_[g].targets.push_back(target);
    edges_[g].incoming = Csr<nn::Incoming>::build(edges_[g].targets.size(), [&](const auto& visit) {
      std::size_t row = 0;
      for (const auto& [target, sources] : counts[g]) {
        for (const auto& [from, edges] : sources) visit(row, nn::Incoming{from, edges});
        ++row;
      }
    });
  }
  std::erase_if(edges_, [](const nn::EdgeGroup& group) { return group.targets.empty(); });
}

PublishedChoices::PublishedChoices(const NodeFeatures& nodes)
    : nodes_(nodes), partial_(nodes), features_(partial_.device_count() * kChoiceFeatures) {
  const auto devices = static_cast<double>(partial_.device_count());
  const double whole = std::max(nodes.critical_path(), nodes.total_compute() / devices);
  to_share_ = whole > 0.0 ? 1.0 / whole : 1.0;
  estimate_to_share_ = nodes.time_unit() * to_share_;
  start_.resize(nodes.node_count());
  compute_.resize(nodes.node_count());
}

void PublishedChoices::begin() {
  partial_.begin();
  load_.assign(device_count(), 0.0f);
  device_.assign(nodes_.node_count(), DeviceId());
}

void PublishedChoices::evaluate(NodeId node) {
  partial_.evaluate(node);
  std::fill(features_.begin(), features_.end(), 0.0f);
  const auto row_of = [&](std::size_t d) { return &features_[d * kChoiceFeatures]; };
  for (std::size_t d = 0; d < device_count(); ++d) {
    const auto start = static_cast<float>(partial_.starts()[d] * estimate_to_share_);
    at(row_of(d), PublishedChoice::kCompute) = load_[d];
    at(row_of(d), PublishedChoice::kProducersStart) = start;
    at(row_of(d), PublishedChoice::kProducersEnd) = kNone;
    at(row_of(d), PublishedChoice::kStart) = start;
  }
  for (const std::uint32_t producer : nodes_.producers().of(node.index())) {
    float* row = row_of(device_[producer].index());
    float& start = at(row, PublishedChoice::kProducersStart);
    float& end = at(row, PublishedChoice::kProducersEnd);
    start = end == kNone ? start_[producer] : std::min(start, start_[producer]);
    end = std::max(end, start_[producer] + compute_[producer]);
    at(row, PublishedChoice::kProducersCompute) += compute_[producer];
  }
  for (std::size_t d = 0; d < device_count(); ++d) {
    float* row = row_of(d);
    if (!partial_.may_take()[d]) {
      std::fill(row, row + kPublishedChoices, 0.0f);
    } else if (at(row, PublishedChoice::kProducersEnd) == kNone) {
      at(row, PublishedChoice::kProducersEnd) = at(row, PublishedChoice::kStart);
    }
  }
}

void PublishedChoices::place(NodeId node, DeviceId device) {
  const std::size_t v = node.index(), d = device.index();
  start_[v] = static_cast<float>(partial_.starts()[d] * estimate_to_share_);
  compute_[v] = static_cast<float>(nodes_.problem().compute_time(node, device) * to_share_);
  load_[d] += compute_[v];
  device_[v] = device;
  partial_.place(node, device);
}

}  // namespace doppler::policy
