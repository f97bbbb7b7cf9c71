#include "doppler/policy/dual/network_layers.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "doppler/nn/matrix.h"
#include "doppler/policy/features/choice_features.h"

namespace doppler::policy {
namespace {

// SEL's scores are bounded by this. Without a bound imitation diverges, and running sums of
// exp(score) lose the small scores beside the large. With a much smaller one the order of nodes in
// deep graphs would be noise, which drowns what PLC could learn.
constexpr double kLargestScore = 20.0;

// Sets each row of `out` to the mean of the embeddings along the path from that node to next[node]
// and so on, until next[node] is the node itself. In `order`, a node comes after the next one of
// its path. `lengths` is scratch.
template <class T>
void mean_along(const std::vector<std::uint32_t>& next, const std::vector<std::size_t>& order,
                const nn::Matrix<T>& in, nn::Matrix<T>& out, std::vector<T>& lengths) {
  out = in;
  lengths.assign(next.size(), T(1));
  for (const std::size_t v : order) {
    if (next[v] == v) continue;
    out.row(static_cast<Eigen::Index>(v)) += out.row(next[v]);
    lengths[v] += lengths[next[v]];
  }
  for (std::size_t v = 0; v < next.size(); ++v) {
    out.row(static_cast<Eigen::Index>(v)) /= lengths[v];
  }
}

// Adds the derivatives by the input of mean_along(), given those by its output.
template <class T>
void add_gradients_along(const std::vector<std::uint32_t>& next,
                         const std::vector<std::size_t>& order, nn::Matrix<T> d_out,
                         nn::Matrix<T>& d_in) {
  std::vector<T> lengths(next.size(), T(1));
  for (const std::size_t v : order) {
    if (next[v] != v) lengths[v] += lengths[next[v]];
  }
  for (std::size_t v = 0; v < next.size(); ++v) {
    d_out.row(static_cast<Eigen::Index>(v)) /= lengths[v];
  }
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t v = order[i];
    if (next[v] != v) d_out.row(next[v]) += d_out.row(static_cast<Eigen::Index>(v));
  }
  d_in += d_out;
}

std::vector<std::size_t> forward_order(const NodeFeatures& nodes) {
  std::vector<std::size_t> order;
  for (const NodeId node : nodes.problem().graph().topological_order()) {
    order.push_back(node.index());
  }
  return order;
}

using nn::kLane, nn::Lane, nn::load, nn::store;

// Sets the hidden layer's argument to base + shares.
template <class T>
[[gnu::always_inline]] inline void begin_hidden(const ChoiceLayers<T>& c, const T* base,
                                                const T* shares, T* hidden) {
  const std::size_t whole = c.width / kLane * kLane;
  for (std::size_t d = 0; d < c.devices; ++d, shares += c.width, hidden += c.width) {
    Lane<T> sum, share;
    for (std::size_t j = 0; j < whole; j += kLane) {
      load(base + j, sum);
      load(shares + j, share);
      sum += share;
      store(sum, hidden + j);
    }
    for (std::size_t j = whole; j < c.width; ++j) hidden[j] = base[j] + shares[j];
  }
}

// Applies the activation function to the hidden layer and finds the scores.
template <class T>
[[gnu::always_inline]] inline void end_hidden(const ChoiceLayers<T>& c, T* hidden, T* scores) {
  const std::size_t whole = c.width / kLane * kLane;
  for (std::size_t d = 0; d < c.devices; ++d, hidden += c.width) {
    Lane<T> parts{}, out, last;
    for (std::size_t j = 0; j < whole; j += kLane) {
      load(hidden + j, out);
      load(c.last + j, last);
      out = out > T(0) ? out : T(nn::kLeak) * out;
      parts += out * last;
      store(out, hidden + j);
    }
    T score = T(0);
    for (std::size_t j = 0; j < kLane; ++j) score += parts[j];
    for (std::size_t j = whole; j < c.width; ++j) {
      hidden[j] = nn::leaky_relu(hidden[j]);
      score += hidden[j] * c.last[j];
    }
    scores[d] = score;
  }
}

// ChoiceLayers::add_gradients().
template <class T>
[[gnu::always_inline]] inline void back(const ChoiceLayers<T>& c, const T* hidden,
                                        const T* d_scores, T* d_hidden, T* d_last, T* d_base,
                                        T* d_shares) {
  const std::size_t whole = c.width / kLane * kLane;
  for (std::size_t j = 0; j < whole; j += kLane) {
    Lane<T> last, d_last_sum, d_base_sum, out, d_share;
    load(c.last + j, last);
    load(d_last + j, d_last_sum);
    load(d_base + j, d_base_sum);
    for (std::size_t d = 0; d < c.devices; ++d) {
      const std::size_t at = d * c.width + j;
      load(hidden + at, out);
      load(d_shares + at, d_share);
      const T by = d_scores[d];
      d_last_sum += by * out;
      Lane<T> mine = by * last;
      mine = out > T(0) ? mine : T(nn::kLeak) * mine;
      d_base_sum += mine;
      d_share += mine;
      store(mine, d_hidden + at);
      store(d_share, d_shares + at);
    }
    store(d_last_sum, d_last + j);
    store(d_base_sum, d_base + j);
  }
  for (std::size_t j = whole; j < c.width; ++j) {
    for (std::size_t d = 0; d < c.devices; ++d) {
      const T out = hidden[d * c.width + j];
      const T mine = d_scores[d] * c.last[j] * nn::leaky_relu_slope(out);
      d_last[j] += d_scores[d] * out;
      d_base[j] += mine;
      d_shares[d * c.width + j] += mine;
      d_hidden[d * c.width + j] = mine;
    }
  }
}

DOPPLER_WIDE_CLONES void begin_floats(const ChoiceLayers<float>& c, const float* base,
                                      const float* shares, float* hidden) {
  begin_hidden(c, base, shares, hidden);
}
DOPPLER_WIDE_CLONES void end_floats(const ChoiceLayers<float>& c, float* hidden, float* scores) {
  end_hidden(c, hidden, scores);
}
DOPPLER_WIDE_CLONES void back_floats(const ChoiceLayers<float>& c, const float* hidden,
                                     const float* d_scores, float* d_hidden, float* d_last,
                                     float* d_base, float* d_shares) {
  back(c, hidden, d_scores, d_hidden, d_last, d_base, d_shares);
}

}  // namespace

MessageRounds::MessageRounds(nn::ParameterTable& table, std::size_t rounds, std::size_t width) {
  for (std::size_t k = 0; k < rounds; ++k) {
    const std::string name = "round" + std::to_string(k);
    nn::Dense own(table, name + ".own", width, width, nn::Offset::kAdded, 0.5);
    nn::Dense producers(table, name + ".producers", width, width, nn::Offset::kNone, 0.5);
    nn::Dense consumers(table, name + ".consumers", width, width, nn::Offset::kNone, 0.5);
    rounds_.push_back({own, producers, consumers});
  }
}

template <class T>
nn::Matrix<T>& MessageRounds::first(RoundsTrace<T>& trace) const {
  trace.embeddings.resize(rounds_.size() + 1);
  return trace.embeddings[0];
}

template <class T>
void MessageRounds::run(std::span<const T> parameters, const NodeFeatures& nodes,
                        RoundsTrace<T>& trace) const {
  trace.from_producers.resize(rounds_.size());
  trace.from_consumers.resize(rounds_.size());
  trace.messages.resize(rounds_.size());
  for (std::size_t k = 0; k < rounds_.size(); ++k) {
    const nn::Matrix<T>& in = trace.embeddings[k];
    nodes.producers().mean(in, trace.from_producers[k]);
    nodes.consumers().mean(in, trace.from_consumers[k]);
    nn::Matrix<T>& message = trace.messages[k];
    message.setZero(in.rows(), in.cols());
    rounds_[k].own.add(parameters, in, message);
    rounds_[k].producers.add(parameters, trace.from_producers[k], message);
    rounds_[k].consumers.add(parameters, trace.from_consumers[k], message);
    nn::apply_leaky_relu(message);
    trace.embeddings[k + 1] = in + message;
  }
}

template <class T>
void MessageRounds::add_gradients(std::span<const T> parameters, const NodeFeatures& nodes,
                                  const RoundsTrace<T>& trace, nn::Matrix<T>& d_embeddings,
                                  std::span<T> gradients) const {
  for (std::size_t k = rounds_.size(); k-- > 0;) {
    const nn::Matrix<T>& in = trace.embeddings[k];
    const nn::Matrix<T> d_message = nn::leaky_relu_gradient(trace.messages[k], d_embeddings);
    nn::Matrix<T> d_producers = nn::Matrix<T>::Zero(in.rows(), in.cols()),
                  d_consumers = d_producers;
    rounds_[k].own.add_gradients(parameters, in, d_message, gradients, &d_embeddings);
    rounds_[k].producers.add_gradients(parameters, trace.from_producers[k], d_message, gradients,
                                       &d_producers);
    rounds_[k].consumers.add_gradients(parameters, trace.from_consumers[k], d_message, gradients,
                                       &d_consumers);
    nodes.producers().add_gradients(d_producers, d_embeddings);
    nodes.consumers().add_gradients(d_consumers, d_embeddings);
  }
}

#define DOPPLER_ROUNDS_OF(T)                                                                      \
  template nn::Matrix<T>& MessageRounds::first(RoundsTrace<T>&) const;                            \
  template void MessageRounds::run(std::span<const T>, const NodeFeatures&, RoundsTrace<T>&)      \
      const;                                                                                      \
  template void MessageRounds::add_gradients(std::span<const T>, const NodeFeatures&,             \
                                             const RoundsTrace<T>&, nn::Matrix<T>&, std::span<T>) \
      const;
DOPPLER_ROUNDS_OF(float)
DOPPLER_ROUNDS_OF(double)
#undef DOPPLER_ROUNDS_OF

template <class T>
void ChoiceLayers<T>::score(const T* features, const T* base, const T* shares, T* hidden,
                            T* scores) const {
  constexpr bool kFloats = std::is_same_v<T, float>;
  if constexpr (kFloats) {
    begin_floats(*this, base, shares, hidden);
  } else {
    begin_hidden(*this, base, shares, hidden);
  }
  nn::add_product<T>(devices, kChoiceFeatures, width, {features, kChoiceFeatures, 1}, weights,
                     hidden);
  if constexpr (kFloats) {
    end_floats(*this, hidden, scores);
  } else {
    end_hidden(*this, hidden, scores);
  }
  if (prior == Prior::kNone) return;
  for (std::size_t d = 0; d < devices; ++d, features += kChoiceFeatures) {
    const ChoiceRow<const T> row(features);
    scores[d] += T(kPriorOfLateEnd) * row[ChoiceFeature::kEndsLater] +
                 T(kPriorOfSiblingsNear) * row[ChoiceFeature::kSiblingsNear];
  }
}

template <class T>
void ChoiceLayers<T>::add_gradients(const T* hidden, const T* d_scores, T* d_hidden, T* d_last,
                                    T* d_base, T* d_shares) const {
  if constexpr (std::is_same_v<T, float>) {
    back_floats(*this, hidden, d_scores, d_hidden, d_last, d_base, d_shares);
  } else {
    back(*this, hidden, d_scores, d_hidden, d_last, d_base, d_shares);
  }
}

template <class T>
void ChoiceLayers<T>::add_weight_gradients(std::size_t rows, const T* features, const T* d_hidden,
                                           T* d_weights) const {
  nn::add_product<T>(kChoiceFeatures, rows, width, {features, 1, kChoiceFeatures}, d_hidden,
                     d_weights);
}

template struct ChoiceLayers<float>;
template struct ChoiceLayers<double>;

template <class T>
void mean_along_paths(const NodeFeatures& nodes, const nn::Matrix<T>& embeddings,
                      nn::Matrix<T>& ahead, nn::Matrix<T>& behind) {
  std::vector<std::size_t> order = forward_order(nodes);
  std::vector<T> lengths;
  mean_along(nodes.behind(), order, embeddings, behind, lengths);
  std::reverse(order.begin(), order.end());
  mean_along(nodes.ahead(), order, embeddings, ahead, lengths);
}

template <class T>
void add_path_gradients(const NodeFeatures& nodes, nn::Matrix<T> d_ahead, nn::Matrix<T> d_behind,
                        nn::Matrix<T>& d_embeddings) {
  std::vector<std::size_t> order = forward_order(nodes);
  add_gradients_along(nodes.behind(), order, std::move(d_behind), d_embeddings);
  std::reverse(order.begin(), order.end());
  add_gradients_along(nodes.ahead(), order, std::move(d_ahead), d_embeddings);
}

template <class T>
void bound_scores(const nn::Matrix<T>& scores, std::vector<T>& bounded) {
  bounded.resize(static_cast<std::size_t>(scores.rows()));
  const T mean = scores.mean();
  for (std::size_t v = 0; v < bounded.size(); ++v) {
    const T score = scores(static_cast<Eigen::Index>(v), 0) - mean;
    bounded[v] = T(kLargestScore) * std::tanh(score / T(kLargestScore));
  }
}

template <class T>
nn::Matrix<T> score_gradients(const std::vector<T>& bounded, const std::vector<T>& d_bounded) {
  nn::Matrix<T> d_scores(static_cast<Eigen::Index>(bounded.size()), 1);
  for (std::size_t v = 0; v < bounded.size(); ++v) {
    const T share = bounded[v] / T(kLargestScore);
    d_scores(static_cast<Eigen::Index>(v), 0) = d_bounded[v] * (T(1) - share * share);
  }
  d_scores.array() -= d_scores.mean();
  return d_scores;
}

#define DOPPLER_PATHS_OF(T)                                                                 \
  template void mean_along_paths(const NodeFeatures&, const nn::Matrix<T>&, nn::Matrix<T>&, \
                                 nn::Matrix<T>&);                                           \
  template void add_path_gradients(const NodeFeatures&, nn::Matrix<T>, nn::Matrix<T>,       \
                                   nn::Matrix<T>&);                                         \
  template void bound_scores(const nn::Matrix<T>&, std::vector<T>&);                        \
  template nn::Matrix<T> score_gradients(const std::vector<T>&, const std::vector<T>&);
DOPPLER_PATHS_OF(float)
DOPPLER_PATHS_OF(double)
#undef DOPPLER_PATHS_OF

}  // namespace doppler::policy
