#include "doppler/policy/dual/message_rounds.h"

#include <string>

namespace doppler::policy {

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

}  // namespace doppler::policy
