#include "doppler/policy/baselines/gdp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "doppler/policy/sampling.h"

namespace doppler::policy {
namespace {

constexpr std::size_t kLayers = 2, kHeads = 4, kSegment = 256;
constexpr std::size_t kWidening = 2;  // width of hidden layers over that of embeddings

struct GdpWorkspace final : Workspace {
  GdpPass<float> pass;
  std::vector<nn::Matrix<float>> d_scores;  // by slot
};

class GdpRollout final : public BatchRollout {
 public:
  GdpRollout(const GdpNetwork& network, const NodeFeatures& nodes)
      : network_(network), nodes_(nodes), order_(list_order(nodes)) {}

  void prepare(std::span<const float> parameters, Workspace& workspace, std::size_t slots,
               std::size_t threads) override {
    parameters_ = parameters;
    work_ = static_cast<GdpWorkspace*>(&workspace);
    network_.run<float>(parameters, nodes_, order_, work_->pass);
    work_->d_scores.resize(std::max(work_->d_scores.size(), slots));
    while (samplers_.size() < threads) {
      samplers_.push_back(std::make_unique<GdpSampler<float>>(nodes_, order_));
    }
  }

  void sample(std::size_t thread, std::size_t /*slot*/, const SamplingSettings& settings, Rng& rng,
              Episode& episode) override {
    samplers_[thread]->sample(work_->pass, settings, rng, episode);
  }

  LogProbability learn(std::size_t thread, std::size_t slot, const Episode& episode,
                       EpisodeWeights weights, bool /*sampled*/) override {
    return {.plc = samplers_[thread]->learn(work_->pass, episode, weights.log_probability,
                                            work_->d_scores[slot])};
  }

  void add_gradients(std::size_t slots, std::span<float> gradients) override {
    for (std::size_t i = 1; i < slots; ++i) work_->d_scores[0] += work_->d_scores[i];
    network_.add_gradients<float>(parameters_, nodes_, order_, work_->pass, work_->d_scores[0],
                                  gradients);
  }

 private:
  const GdpNetwork& network_;
  const NodeFeatures& nodes_;
  const std::vector<NodeId> order_;
  std::span<const float> parameters_;
  GdpWorkspace* work_ = nullptr;
  std::vector<std::unique_ptr<GdpSampler<float>>> samplers_;  // by thread
};

// Adds sines and cosines of the position, from fast to slow ones, to a row (Vaswani et al.,
// "Attention Is All You Need", arXiv 1706.03762).
template <class T>
void add_position(Eigen::Index row, nn::Matrix<T>& rows) {
  constexpr double kSlowest = 1e4;
  for (Eigen::Index j = 0; j < rows.cols(); ++j) {
    const double share = static_cast<double>(j / 2 * 2) / static_cast<double>(rows.cols());
    const double angle = static_cast<double>(row) / std::pow(kSlowest, share);
    rows(row, j) += static_cast<T>(j % 2 == 0 ? std::sin(angle) : std::cos(angle));
  }
}

}  // namespace

// The network.

GdpNetwork::GdpNetwork(NetworkShape shape)
    : shape_(shape),
      enter_(table_, "enter", kNodeFeatures, shape.width),
      rounds_(table_, shape.rounds, shape.width),
      score_(table_, "score", shape.width, shape.devices, nn::Offset::kAdded, 0.1) {
  for (std::size_t l = 0; l < kLayers; ++l) {
    const std::string name = "layer" + std::to_string(l);
    nn::Dense scale(table_, name + ".scale", shape.width, shape.width, nn::Offset::kAdded, 0.1);
    nn::Attention attention(table_, name, shape.width, shape.width % kHeads == 0 ? kHeads : 1,
                            kSegment);
    nn::Dense widen(table_, name + ".widen", shape.width, kWidening * shape.width);
    nn::Dense narrow(table_, name + ".narrow", kWidening * shape.width, shape.width,
                     nn::Offset::kAdded, 0.5);
    layers_.push_back({scale, attention, widen, narrow});
  }
}

template <class T>
void GdpNetwork::run(std::span<const T> parameters, const NodeFeatures& nodes,
                     std::span<const NodeId> order, GdpPass<T>& pass) const {
  const auto rows = static_cast<Eigen::Index>(nodes.node_count());
  pass.raw = nodes.values().template cast<T>();
  nn::Matrix<T>& first = rounds_.first(pass.rounds);
  first.setZero(rows, static_cast<Eigen::Index>(shape_.width));
  enter_.add(parameters, pass.raw, first);
  nn::apply_leaky_relu(first);
  rounds_.run(parameters, nodes, pass.rounds);

  const nn::Matrix<T>& embeddings = pass.rounds.embeddings.back();
  pass.last.resize(rows, embeddings.cols());
  for (Eigen::Index i = 0; i < rows; ++i) {
    pass.last.row(i) = embeddings.row(order[static_cast<std::size_t>(i)].value());
    add_position<T>(i, pass.last);
  }
  pass.graph = embeddings.colwise().mean();
  pass.layers.resize(kLayers);
  for (std::size_t l = 0; l < kLayers; ++l) {
    typename GdpPass<T>::Layer& at = pass.layers[l];
    at.rows = pass.last;
    at.scale.setOnes(1, at.rows.cols());
    layers_[l].scale.add(parameters, pass.graph, at.scale);
    at.in = at.rows.array().rowwise() * at.scale.row(0).array();
    at.attended = at.in;
    layers_[l].attention.add(parameters, at.in, at.attention, at.attended);
    at.hidden.setZero(rows, static_cast<Eigen::Index>(kWidening * shape_.width));
    layers_[l].widen.add(parameters, at.attended, at.hidden);
    nn::apply_leaky_relu(at.hidden);
    pass.last = at.attended;
    layers_[l].narrow.add(parameters, at.hidden, pass.last);
  }
  pass.scores.setZero(rows, static_cast<Eigen::Index>(shape_.devices));
  score_.add(parameters, pass.last, pass.scores);
}

template <class T>
void GdpNetwork::add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                               std::span<const NodeId> order, const GdpPass<T>& pass,
                               const nn::Matrix<T>& d_scores, std::span<T> gradients) const {
  // Derivatives by the output of a layer, then by its input.
  nn::Matrix<T> d_rows = nn::Matrix<T>::Zero(pass.last.rows(), pass.last.cols());
  nn::Matrix<T> d_graph = nn::Matrix<T>::Zero(1, pass.last.cols());
  score_.add_gradients(parameters, pass.last, d_scores, gradients, &d_rows);
  for (std::size_t l = kLayers; l-- > 0;) {
    const typename GdpPass<T>::Layer& at = pass.layers[l];
    nn::Matrix<T> d_hidden = nn::Matrix<T>::Zero(at.hidden.rows(), at.hidden.cols());
    layers_[l].narrow.add_gradients(parameters, at.hidden, d_rows, gradients, &d_hidden);
    d_hidden = nn::leaky_relu_gradient(at.hidden, d_hidden);
    layers_[l].widen.add_gradients(parameters, at.attended, d_hidden, gradients, &d_rows);
    const nn::Matrix<T> d_attended = d_rows;
    layers_[l].attention.add_gradients(parameters, at.in, at.attention, d_attended, gradients,
                                       d_rows);
    const nn::Matrix<T> d_scale = d_rows.cwiseProduct(at.rows).colwise().sum();
    layers_[l].scale.add_gradients(parameters, pass.graph, d_scale, gradients, &d_graph);
    d_rows = (d_rows.array().rowwise() * at.scale.row(0).array()).matrix().eval();
  }
  nn::Matrix<T> d_embeddings(d_rows.rows(), d_rows.cols());
  for (Eigen::Index i = 0; i < d_rows.rows(); ++i) {
    d_embeddings.row(order[static_cast<std::size_t>(i)].value()) = d_rows.row(i);
  }
  d_embeddings.rowwise() += d_graph.row(0) / static_cast<T>(d_rows.rows());
  rounds_.add_gradients(parameters, nodes, pass.rounds, d_embeddings, gradients);
  enter_.add_gradients<T>(parameters, pass.raw,
                          nn::leaky_relu_gradient(pass.rounds.embeddings[0], d_embeddings),
                          gradients, nullptr);
}

#define DOPPLER_GDP_OF(T)                                                                         \
  template void GdpNetwork::run(std::span<const T>, const NodeFeatures&, std::span<const NodeId>, \
                                GdpPass<T>&) const;                                               \
  template void GdpNetwork::add_gradients(std::span<const T>, const NodeFeatures&,                \
                                          std::span<const NodeId>, const GdpPass<T>&,             \
                                          const nn::Matrix<T>&, std::span<T>) const;
DOPPLER_GDP_OF(float)
DOPPLER_GDP_OF(double)
#undef DOPPLER_GDP_OF

// The sampler.

template <class T>
GdpSampler<T>::GdpSampler(const NodeFeatures& nodes, std::span<const NodeId> order)
    : order_(order), partial_(nodes), chances_(nodes.problem().device_count()) {}

template <class T>
void GdpSampler<T>::find_chances(const GdpPass<T>& pass, std::size_t position) {
  partial_.evaluate(order_[position]);
  const std::span<const T> scores(pass.scores.row(static_cast<Eigen::Index>(position)).data(),
                                  chances_.size());
  softmax<T>(scores, partial_.may_take(), chances_.data());
}

template <class T>
void GdpSampler<T>::sample(const GdpPass<T>& pass, const SamplingSettings& settings, Rng& rng,
                           Episode& episode) {
  partial_.begin();
  episode.order.assign(order_.begin(), order_.end());
  episode.device.resize(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    find_chances(pass, i);
    const DeviceId device =
        DeviceId::of(choose<T>(chances_, settings.device_temperature, settings.exploration, rng));
    episode.device[order_[i].index()] = device;
    partial_.place(order_[i], device);
  }
}

template <class T>
double GdpSampler<T>::learn(const GdpPass<T>& pass, const Episode& episode, double weight,
                            nn::Matrix<T>& d_scores) {
  partial_.begin();
  d_scores.resize(pass.scores.rows(), pass.scores.cols());
  LogOfProduct probability;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    find_chances(pass, i);
    const DeviceId device = episode.device[order_[i].index()];
    probability.times(
        static_cast<double>(std::max(chances_[device.index()], std::numeric_limits<T>::min())));
    T* d_row = d_scores.row(static_cast<Eigen::Index>(i)).data();
    for (std::size_t d = 0; d < chances_.size(); ++d) {
      d_row[d] = static_cast<T>(weight) * (chances_[d] - (d == device.index() ? T(1) : T(0)));
    }
    partial_.place(order_[i], device);
  }
  return probability.log();
}

template class GdpSampler<float>;
template class GdpSampler<double>;

// The model.

std::unique_ptr<Workspace> GdpModel::workspace() const {
  return std::make_unique<GdpWorkspace>();
}

std::unique_ptr<BatchRollout> GdpModel::rollout(const NodeFeatures& nodes) const {
  require_device_count("gdp", network_.shape(), nodes);
  return std::make_unique<GdpRollout>(network_, nodes);
}

}  // namespace doppler::policy
