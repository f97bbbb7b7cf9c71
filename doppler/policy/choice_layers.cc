#include "doppler/policy/choice_layers.h"

#include <cstring>

#include "doppler/nn/matrix.h"
#include "doppler/policy/construction.h"

// Twice as many numbers at once where the processor can. Sanitisers cannot follow the choice, which
// is made before they start.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DOPPLER_WIDE_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define DOPPLER_WIDE_CLONES
#endif

namespace doppler::policy {
namespace {

constexpr std::size_t kBlock = 8;  // numbers that are worked on together

template <class T>
struct BlockOf {
  typedef T Type __attribute__((vector_size(kBlock * sizeof(T))));
};
template <class T>
using Block = typename BlockOf<T>::Type;

// `count` is kBlock except at the end of a row.
template <class T>
[[gnu::always_inline]] inline void load(const T* from, std::size_t count, Block<T>& block) {
  block = Block<T>{};
  std::memcpy(&block, from, count * sizeof(T));
}
template <class T>
[[gnu::always_inline]] inline void store(const Block<T>& block, std::size_t count, T* to) {
  std::memcpy(to, &block, count * sizeof(T));
}

// A block of a row of the hidden layer, and its part of the score.
template <class T>
[[gnu::always_inline]] inline void hidden_block(const ChoiceLayers<T>& c, const T* base,
                                                const T* share, const float* x, std::size_t at,
                                                std::size_t count, T* out, Block<T>& score) {
  Block<T> sum, row;
  load(base + at, count, sum);
  load(share + at, count, row);
  sum += row;
  for (std::size_t i = 0; i < kChoiceFeatures; ++i) {
    load(c.weights + i * c.width + at, count, row);
    sum += static_cast<T>(x[i]) * row;
  }
  sum = sum > T(0) ? sum : T(nn::kLeak) * sum;
  store(sum, count, out + at);
  load(c.last + at, count, row);
  score += sum * row;
}

template <class T>
[[gnu::always_inline]] inline void score_all(const ChoiceLayers<T>& c, const T* base,
                                             const T* shares, T* scores) {
  const std::size_t whole = c.width / kBlock * kBlock;
  for (std::size_t d = 0; d < c.devices; ++d) {
    T* out = c.hidden + d * c.width;
    const T* share = shares + d * c.width;
    const float* x = c.features + d * kChoiceFeatures;
    Block<T> parts{};
    for (std::size_t at = 0; at < whole; at += kBlock) {
      hidden_block(c, base, share, x, at, kBlock, out, parts);
    }
    if (whole < c.width) hidden_block(c, base, share, x, whole, c.width - whole, out, parts);
    T score = T(0);
    for (std::size_t j = 0; j < kBlock; ++j) score += parts[j];
    scores[d] = score;
  }
}

template <class T>
[[gnu::always_inline]] inline void back_block(const ChoiceLayers<T>& c, const T* d_scores,
                                              std::size_t at, std::size_t count, T* d_hidden,
                                              T* d_weights, T* d_last, T* d_base, T* d_shares) {
  Block<T> last, d_last_sum, d_base_sum, out, d_share;
  load(c.last + at, count, last);
  load(d_last + at, count, d_last_sum);
  load(d_base + at, count, d_base_sum);
  for (std::size_t d = 0; d < c.devices; ++d) {
    load(c.hidden + d * c.width + at, count, out);
    load(d_shares + d * c.width + at, count, d_share);
    const T by = d_scores[d];
    d_last_sum += by * out;
    const Block<T> straight = by * last;
    const Block<T> mine = out > T(0) ? straight : T(nn::kLeak) * straight;
    d_base_sum += mine;
    d_share += mine;
    store(mine, count, d_hidden + d * c.width + at);
    store(d_share, count, d_shares + d * c.width + at);
  }
  store(d_last_sum, count, d_last + at);
  store(d_base_sum, count, d_base + at);
  for (std::size_t i = 0; i < kChoiceFeatures; ++i) {
    Block<T> sum;
    load(d_weights + i * c.width + at, count, sum);
    for (std::size_t d = 0; d < c.devices; ++d) {
      load(d_hidden + d * c.width + at, count, out);
      sum += static_cast<T>(c.features[d * kChoiceFeatures + i]) * out;
    }
    store(sum, count, d_weights + i * c.width + at);
  }
}

template <class T>
[[gnu::always_inline]] inline void back_all(const ChoiceLayers<T>& c, const T* d_scores,
                                            T* d_hidden, T* d_weights, T* d_last, T* d_base,
                                            T* d_shares) {
  const std::size_t whole = c.width / kBlock * kBlock;
  for (std::size_t at = 0; at < whole; at += kBlock) {
    back_block(c, d_scores, at, kBlock, d_hidden, d_weights, d_last, d_base, d_shares);
  }
  if (whole < c.width) {
    back_block(c, d_scores, whole, c.width - whole, d_hidden, d_weights, d_last, d_base, d_shares);
  }
}

DOPPLER_WIDE_CLONES void score_floats(const ChoiceLayers<float>& c, const float* base,
                                      const float* shares, float* scores) {
  score_all(c, base, shares, scores);
}
DOPPLER_WIDE_CLONES void back_floats(const ChoiceLayers<float>& c, const float* d_scores,
                                     float* d_hidden, float* d_weights, float* d_last,
                                     float* d_base, float* d_shares) {
  back_all(c, d_scores, d_hidden, d_weights, d_last, d_base, d_shares);
}

}  // namespace

template <>
void ChoiceLayers<float>::score(const float* base, const float* shares, float* scores) const {
  score_floats(*this, base, shares, scores);
}
template <>
void ChoiceLayers<double>::score(const double* base, const double* shares, double* scores) const {
  score_all(*this, base, shares, scores);
}
template <>
void ChoiceLayers<float>::add_gradients(const float* d_scores, float* d_hidden, float* d_weights,
                                        float* d_last, float* d_base, float* d_shares) const {
  back_floats(*this, d_scores, d_hidden, d_weights, d_last, d_base, d_shares);
}
template <>
void ChoiceLayers<double>::add_gradients(const double* d_scores, double* d_hidden,
                                         double* d_weights, double* d_last, double* d_base,
                                         double* d_shares) const {
  back_all(*this, d_scores, d_hidden, d_weights, d_last, d_base, d_shares);
}

}  // namespace doppler::policy
