#include "doppler/policy/baselines/placeto.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "doppler/policy/baselines/per_step_rollout.h"
#include "doppler/policy/sampling.h"

namespace doppler::policy {
namespace {

bool is_parallel(Relation relation) {
  return relation == Relation::kWaitingParallel || relation == Relation::kVisitedParallel;
}

// Marks the nodes that are reached from one along `next`.
void mark(const nn::Neighbours& next, std::uint32_t from, Relation as,
          std::vector<Relation>& relations) {
  std::vector<std::uint32_t> left = {from};
  while (!left.empty()) {
    const std::uint32_t node = left.back();
    left.pop_back();
    for (const std::uint32_t other : next.of(node)) {
      if (!is_parallel(relations[other])) continue;
      relations[other] = as;
      left.push_back(other);
    }
  }
}

// Returns, by relation, 1 over the number of nodes with it, or 0 without any.
template <class T>
std::array<T, kRelations> shares_of(const std::vector<Relation>& relations) {
  std::array<T, kRelations> shares = {};
  for (const Relation relation : relations) shares[static_cast<std::size_t>(relation)] += T(1);
  for (T& share : shares) share = share > T(0) ? T(1) / share : T(0);
  return shares;
}

}  // namespace

void find_relations(const NodeFeatures& nodes, NodeId node, const std::vector<bool>& visited,
                    std::vector<Relation>& relations) {
  relations.resize(nodes.node_count());
  for (std::size_t v = 0; v < relations.size(); ++v) {
    relations[v] = visited[v] ? Relation::kVisitedParallel : Relation::kWaitingParallel;
  }
  relations[node.index()] = Relation::kItself;
  mark(nodes.producers(), node.value(), Relation::kAncestor, relations);
  mark(nodes.consumers(), node.value(), Relation::kDescendant, relations);
}

// The network.

PlacetoNetwork::PlacetoNetwork(NetworkShape shape)
    : shape_(shape),
      enter_(table_, "enter", kNodeFeatures + shape.devices + 2, shape.width),
      rounds_(table_, shape.rounds, shape.width),
      from_relation_{nn::Dense(table_, "own", shape.width, shape.width),
                     nn::Dense(table_, "ancestors", shape.width, shape.width, nn::Offset::kNone),
                     nn::Dense(table_, "descendants", shape.width, shape.width, nn::Offset::kNone),
                     nn::Dense(table_, "waiting", shape.width, shape.width, nn::Offset::kNone),
                     nn::Dense(table_, "visited", shape.width, shape.width, nn::Offset::kNone)},
      score_(table_, "score", shape.width, shape.devices, nn::Offset::kAdded, 0.1) {}

template <class T>
void PlacetoNetwork::run(std::span<const T> parameters, const NodeFeatures& nodes,
                         PlacetoStep<T>& step) const {
  const auto width = static_cast<Eigen::Index>(shape_.width);
  nn::Matrix<T>& first = rounds_.first(step.rounds);
  first.setZero(step.raw.rows(), width);
  enter_.add(parameters, step.raw, first);
  nn::apply_leaky_relu(first);
  rounds_.run(parameters, nodes, step.rounds);

  const nn::Matrix<T>& embeddings = step.rounds.embeddings.back();
  for (nn::Matrix<T>& mean : step.means) mean.setZero(1, width);
  for (std::size_t v = 0; v < step.relations.size(); ++v) {
    step.means[static_cast<std::size_t>(step.relations[v])] +=
        embeddings.row(static_cast<Eigen::Index>(v));
  }
  const std::array<T, kRelations> shares = shares_of<T>(step.relations);
  step.hidden.setZero(1, width);
  for (std::size_t k = 0; k < kRelations; ++k) {
    step.means[k] *= shares[k];
    from_relation_[k].add(parameters, step.means[k], step.hidden);
  }
  nn::apply_leaky_relu(step.hidden);
  step.scores.setZero(1, static_cast<Eigen::Index>(shape_.devices));
  score_.add(parameters, step.hidden, step.scores);
}

template <class T>
void PlacetoNetwork::add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                                   const PlacetoStep<T>& step, const nn::Matrix<T>& d_scores,
                                   std::span<T> gradients) const {
  const auto width = static_cast<Eigen::Index>(shape_.width);
  nn::Matrix<T> d_hidden = nn::Matrix<T>::Zero(1, width);
  score_.add_gradients(parameters, step.hidden, d_scores, gradients, &d_hidden);
  d_hidden = nn::leaky_relu_gradient(step.hidden, d_hidden);
  const std::array<T, kRelations> shares = shares_of<T>(step.relations);
  std::array<nn::Matrix<T>, kRelations> d_means;
  for (std::size_t k = 0; k < kRelations; ++k) {
    d_means[k].setZero(1, width);
    from_relation_[k].add_gradients(parameters, step.means[k], d_hidden, gradients, &d_means[k]);
    d_means[k] *= shares[k];
  }
  nn::Matrix<T> d_embeddings(step.raw.rows(), width);
  for (std::size_t v = 0; v < step.relations.size(); ++v) {
    d_embeddings.row(static_cast<Eigen::Index>(v)) =
        d_means[static_cast<std::size_t>(step.relations[v])];
  }
  rounds_.add_gradients(parameters, nodes, step.rounds, d_embeddings, gradients);
  enter_.add_gradients<T>(parameters, step.raw,
                          nn::leaky_relu_gradient(step.rounds.embeddings[0], d_embeddings),
                          gradients, nullptr);
}

#define DOPPLER_PLACETO_OF(T)                                                                 \
  template void PlacetoNetwork::run(std::span<const T>, const NodeFeatures&, PlacetoStep<T>&) \
      const;                                                                                  \
  template void PlacetoNetwork::add_gradients(std::span<const T>, const NodeFeatures&,        \
                                              const PlacetoStep<T>&, const nn::Matrix<T>&,    \
                                              std::span<T>) const;
DOPPLER_PLACETO_OF(float)
DOPPLER_PLACETO_OF(double)
#undef DOPPLER_PLACETO_OF

// The sampler.

std::vector<DeviceId> first_devices(const cost::Problem& problem) {
  // By device: how many nodes may not run there, and the time of those that may.
  std::vector<std::pair<std::size_t, double>> totals(problem.device_count());
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    for (std::size_t d = 0; d < totals.size(); ++d) {
      const bool may = problem.allowed(NodeId::of(v), DeviceId::of(d));
      totals[d].first += !may;
      if (may) totals[d].second += problem.compute_time(NodeId::of(v), DeviceId::of(d));
    }
  }
  const auto fastest = DeviceId::of(
      static_cast<std::size_t>(std::min_element(totals.begin(), totals.end()) - totals.begin()));
  std::vector<DeviceId> devices;
  for (std::size_t v = 0; v < problem.node_count(); ++v) {
    const bool may = problem.allowed(NodeId::of(v), fastest);
    devices.push_back(may ? fastest : problem.allowed_devices(NodeId::of(v)).front());
  }
  return devices;
}

template <class T>
PlacetoSampler<T>::PlacetoSampler(const PlacetoNetwork& network, const NodeFeatures& nodes)
    : network_(network),
      nodes_(nodes),
      order_(list_order(nodes)),
      first_devices_(first_devices(nodes.problem())),
      partial_(nodes),
      chances_(nodes.problem().device_count()) {}

template <class T>
void PlacetoSampler<T>::begin() {
  partial_.begin();
  visited_.assign(nodes_.node_count(), false);
  step_.raw.setZero(static_cast<Eigen::Index>(nodes_.node_count()), network_.columns());
  step_.raw.leftCols(kNodeFeatures) = nodes_.values().template cast<T>();
  for (std::size_t v = 0; v < first_devices_.size(); ++v) {
    step_.raw(static_cast<Eigen::Index>(v), network_.device_column(first_devices_[v])) = T(1);
  }
}

template <class T>
void PlacetoSampler<T>::score(std::span<const T> parameters, NodeId node) {
  step_.raw(static_cast<Eigen::Index>(node.index()), network_.current_column()) = T(1);
  find_relations(nodes_, node, visited_, step_.relations);
  network_.run(parameters, nodes_, step_);
  partial_.evaluate(node);
  softmax<T>(std::span<const T>(step_.scores.data(), chances_.size()), partial_.may_take(),
             chances_.data());
}

template <class T>
void PlacetoSampler<T>::place(NodeId node, DeviceId device) {
  const auto row = static_cast<Eigen::Index>(node.index());
  step_.raw(row, network_.current_column()) = T(0);
  step_.raw(row, network_.visited_column()) = T(1);
  step_.raw(row, network_.device_column(first_devices_[node.index()])) = T(0);
  step_.raw(row, network_.device_column(device)) = T(1);
  visited_[node.index()] = true;
  partial_.place(node, device);
}

template <class T>
void PlacetoSampler<T>::sample(std::span<const T> parameters, const SamplingSettings& settings,
                               Rng& rng, Episode& episode) {
  begin();
  episode.order = order_;
  episode.device.resize(order_.size());
  for (const NodeId node : order_) {
    score(parameters, node);
    const DeviceId device =
        DeviceId::of(choose<T>(chances_, settings.device_temperature, settings.exploration, rng));
    episode.device[node.index()] = device;
    place(node, device);
  }
}

template <class T>
LogProbability PlacetoSampler<T>::learn(std::span<const T> parameters, const Episode& episode,
                                        const EpisodeWeights& weights, std::span<T> gradients) {
  begin();
  LogOfProduct probability;
  double entropies = 0.0;
  nn::Matrix<T> d_scores(1, static_cast<Eigen::Index>(chances_.size()));
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const NodeId node = order_[i];
    const DeviceId device = episode.device[node.index()];
    const auto weight =
        static_cast<T>(weights.by_step.empty() ? weights.log_probability : weights.by_step[i]);
    score(parameters, node);
    probability.times(
        static_cast<double>(std::max(chances_[device.index()], std::numeric_limits<T>::min())));
    for (std::size_t d = 0; d < chances_.size(); ++d) {
      d_scores.data()[d] = weight * (chances_[d] - (d == device.index() ? T(1) : T(0)));
    }
    if (weights.entropy != 0.0) {
      const auto log = [](T chance) { return chance > T(0) ? std::log(chance) : T(0); };
      T entropy = T(0);
      for (const T chance : chances_) entropy -= chance * log(chance);
      for (std::size_t d = 0; d < chances_.size(); ++d) {
        d_scores.data()[d] +=
            static_cast<T>(weights.entropy) * chances_[d] * (log(chances_[d]) + entropy);
      }
      entropies += static_cast<double>(entropy);
    }
    network_.add_gradients(parameters, nodes_, step_, d_scores, gradients);
    place(node, device);
  }
  return {.plc = probability.log(), .entropy = entropies};
}

template class PlacetoSampler<float>;
template class PlacetoSampler<double>;

// The model.

std::unique_ptr<Workspace> PlacetoModel::workspace() const {
  return std::make_unique<PerStepWorkspace>();
}

std::unique_ptr<BatchRollout> PlacetoModel::rollout(const NodeFeatures& nodes) const {
  require_device_count("placeto", network_.shape(), nodes);
  using Sampler = PlacetoSampler<float>;
  return std::make_unique<PerStepRollout<Sampler>>(
      [this, &nodes] { return std::make_unique<Sampler>(network_, nodes); },
      policy::first_devices(nodes.problem()));
}

}  // namespace doppler::policy
