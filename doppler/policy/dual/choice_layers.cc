#include "doppler/policy/dual/choice_layers.h"

#include <fmt/format.h>

#include <type_traits>

#include "doppler/base/error.h"
#include "doppler/nn/matrix.h"
#include "doppler/nn/wide_loops.h"
#include "doppler/policy/features/choice_features.h"

namespace doppler::policy {
namespace {

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

std::string_view prior_name(Prior prior) {
  return prior == Prior::kList ? "list" : "none";
}

Prior prior_named(std::string_view name) {
  for (const Prior prior : {Prior::kNone, Prior::kList}) {
    if (prior_name(prior) == name) return prior;
  }
  throw ParameterError(fmt::format("unknown prior '{}'; there are list and none", name));
}

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

}  // namespace doppler::policy
