#include "doppler/policy/baselines/gdp_model.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "doppler/policy/baselines/device_outputs.h"
#include "doppler/policy/features/choice.h"

namespace doppler::policy {

template <class T>
GdpPlayer<T>::GdpPlayer(const NodeFeatures& nodes, std::span<const NodeId> order)
    : order_(order), construction_(nodes), chances_(nodes.problem().device_count()) {}

template <class T>
void GdpPlayer<T>::find_chances(const GdpPass<T>& pass, std::size_t position) {
  construction_.look(order_[position]);
  const std::span<const T> scores(pass.scores.row(static_cast<Eigen::Index>(position)).data(),
                                  chances_.size());
  softmax<T>(scores, construction_.may_take(), chances_.data());
}

template <class T>
void GdpPlayer<T>::play(const GdpPass<T>& pass, Decoding decoding, Rng& rng, Episode& episode) {
  construction_.begin();
  episode.order.assign(order_.begin(), order_.end());
  episode.device.resize(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    find_chances(pass, i);
    const DeviceId device =
        DeviceId::of(choose<T>(chances_, decoding.placing, decoding.exploration, rng));
    episode.device[order_[i].index()] = device;
    construction_.place(order_[i], device);
  }
}

template <class T>
double GdpPlayer<T>::learn(const GdpPass<T>& pass, const Episode& episode, double stake,
                           nn::Matrix<T>& d_scores) {
  construction_.begin();
  d_scores.resize(pass.scores.rows(), pass.scores.cols());
  LogOfProduct probability;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    find_chances(pass, i);
    const DeviceId device = episode.device[order_[i].index()];
    probability.times(
        static_cast<double>(std::max(chances_[device.index()], std::numeric_limits<T>::min())));
    T* d_row = d_scores.row(static_cast<Eigen::Index>(i)).data();
    for (std::size_t d = 0; d < chances_.size(); ++d) {
      d_row[d] = static_cast<T>(stake) * (chances_[d] - (d == device.index() ? T(1) : T(0)));
    }
    construction_.place(order_[i], device);
  }
  return probability.log();
}

template class GdpPlayer<float>;
template class GdpPlayer<double>;

namespace {

struct GdpWorkspace final : Workspace {
  GdpPass<float> pass;
  std::vector<nn::Matrix<float>> d_scores;  // by slot
};

class GdpActor final : public Actor {
 public:
  GdpActor(const GdpNetwork& network, const NodeFeatures& nodes)
      : network_(network), nodes_(nodes), order_(list_order(nodes)) {}

  void prepare(std::span<const float> parameters, Workspace& workspace, std::size_t slots,
               std::size_t threads) override {
    parameters_ = parameters;
    work_ = static_cast<GdpWorkspace*>(&workspace);
    network_.run<float>(parameters, nodes_, order_, work_->pass);
    work_->d_scores.resize(std::max(work_->d_scores.size(), slots));
    while (players_.size() < threads) {
      players_.push_back(std::make_unique<GdpPlayer<float>>(nodes_, order_));
    }
  }

  void play(std::size_t thread, std::size_t /*slot*/, Decoding decoding, Rng& rng,
            Episode& episode) override {
    players_[thread]->play(work_->pass, decoding, rng, episode);
  }

  LogProbability learn(std::size_t thread, std::size_t slot, const Episode& episode, Stake stake,
                       bool /*played*/) override {
    return {.plc = players_[thread]->learn(work_->pass, episode, stake.log_probability,
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
  std::vector<std::unique_ptr<GdpPlayer<float>>> players_;  // by thread
};

}  // namespace

std::unique_ptr<Workspace> GdpModel::workspace() const {
  return std::make_unique<GdpWorkspace>();
}

std::unique_ptr<Actor> GdpModel::actor(const NodeFeatures& nodes) const {
  require_device_count("gdp", network_.shape(), nodes);
  return std::make_unique<GdpActor>(network_, nodes);
}

}  // namespace doppler::policy
