#include "doppler/nn/gated_messages.h"

#include <cmath>

namespace doppler::nn {
namespace {

template <class T>
Matrix<T> zeros(Eigen::Index rows, Eigen::Index columns) {
  return Matrix<T>::Zero(rows, columns);
}

template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

// The matrix of one group of edges, as part of a row of GatedTrace::matrices.
template <class T>
MatrixView<T> matrix_of(const Matrix<T>& matrices, std::size_t group, Eigen::Index width) {
  return {matrices.row(static_cast<Eigen::Index>(group)).data(), width, width};
}

}  // namespace

GatedMessages::GatedMessages(ParameterTable& table, const std::string& name, std::size_t width,
                             std::size_t edge_width, std::size_t rounds)
    : width_(width),
      rounds_(rounds),
      edge_enter_(table, name + ".edge", 1, edge_width),
      // So that a matrix keeps about the length of what it is applied to.
      edge_matrix_(table, name + ".matrix", edge_width, width * width, Offset::kAdded,
                   1.0 / std::sqrt(static_cast<double>(width))),
      gate_messages_(table, name + ".gate_messages", width, 3 * width),
      gate_state_(table, name + ".gate_state", width, 3 * width),
      message_offsets_(table.block(table.add(name + ".message_offsets", 1, width, 0.0)).offset) {}

template <class T>
void GatedMessages::run(std::span<const T> parameters, std::span<const EdgeGroup> groups,
                        GatedTrace<T>& trace) const {
  const auto count = static_cast<Eigen::Index>(groups.size());
  trace.values.resize(count, 1);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    trace.values(static_cast<Eigen::Index>(g), 0) = static_cast<T>(groups[g].value);
  }
  trace.edge_hidden.setZero(count, static_cast<Eigen::Index>(edge_enter_.outputs()));
  edge_enter_.add(parameters, trace.values, trace.edge_hidden);
  trace.edge_hidden = trace.edge_hidden.cwiseMax(T(0));
  trace.matrices.setZero(count, static_cast<Eigen::Index>(edge_matrix_.outputs()));
  edge_matrix_.add(parameters, trace.edge_hidden, trace.matrices);
  trace.rounds.resize(rounds_);
  trace.embeddings.resize(rounds_ + 1);
  for (std::size_t r = 0; r < rounds_; ++r) {
    run_round(parameters, groups, trace.matrices, trace.embeddings[r], trace.rounds[r],
              trace.embeddings[r + 1]);
  }
}

template <class T>
void GatedMessages::run_round(std::span<const T> parameters, std::span<const EdgeGroup> groups,
                              const Matrix<T>& matrices, const Matrix<T>& in,
                              typename GatedTrace<T>::Round& at, Matrix<T>& out) const {
  const Eigen::Index rows = in.rows(), width = in.cols();
  at.messages.setZero(rows, width);
  at.messages.rowwise() += MatrixView<T>(parameters.data() + message_offsets_, 1, width).row(0);
  at.gathered.resize(groups.size());
  Matrix<T> passed;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<std::uint32_t>& targets = groups[g].targets;
    Matrix<T>& gathered = at.gathered[g];
    gathered.setZero(static_cast<Eigen::Index>(targets.size()), width);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      auto sum = gathered.row(static_cast<Eigen::Index>(i));
      for (const Incoming& some : groups[g].incoming[i]) {
        sum += static_cast<T>(some.edges) * in.row(some.from);
      }
    }
    passed.setZero(gathered.rows(), width);
    add_product<T>(targets.size(), width_, width_, {gathered.data(), width_, 1},
                   matrices.row(static_cast<Eigen::Index>(g)).data(), passed.data());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      at.messages.row(targets[i]) += passed.row(static_cast<Eigen::Index>(i));
    }
  }
  at.messages = at.messages.cwiseMax(T(0));

  Matrix<T> from_messages = zeros<T>(rows, 3 * width), from_state = zeros<T>(rows, 3 * width);
  gate_messages_.add(parameters, at.messages, from_messages);
  gate_state_.add(parameters, in, from_state);
  at.reset = (from_messages.leftCols(width) + from_state.leftCols(width)).unaryExpr([](T x) {
    return sigmoid(x);
  });
  at.update = (from_messages.middleCols(width, width) + from_state.middleCols(width, width))
                  .unaryExpr([](T x) { return sigmoid(x); });
  at.state_part = from_state.rightCols(width);
  at.candidate =
      (from_messages.rightCols(width) + at.reset.cwiseProduct(at.state_part)).unaryExpr([](T x) {
        return std::tanh(x);
      });
  out = at.candidate + at.update.cwiseProduct(in - at.candidate);
}

template <class T>
void GatedMessages::add_gradients(std::span<const T> parameters, std::span<const EdgeGroup> groups,
                                  const GatedTrace<T>& trace, Matrix<T>& d_embeddings,
                                  std::span<T> gradients) const {
  Matrix<T> d_matrices = zeros<T>(trace.matrices.rows(), trace.matrices.cols());
  for (std::size_t r = rounds_; r-- > 0;) {
    add_round_gradients(parameters, groups, trace.matrices, trace.embeddings[r], trace.rounds[r],
                        d_embeddings, d_matrices, gradients);
  }
  if (groups.empty()) return;
  // The weights of `edge_matrix_` are too many to be turned around as Dense does.
  edge_matrix_.add_gradients<T>(parameters, trace.edge_hidden, d_matrices, gradients, nullptr);
  Matrix<T> d_hidden = d_matrices * edge_matrix_.weights(parameters).transpose();
  d_hidden = (trace.edge_hidden.array() > T(0)).select(d_hidden, T(0));
  edge_enter_.add_gradients<T>(parameters, trace.values, d_hidden, gradients, nullptr);
}

template <class T>
void GatedMessages::add_round_gradients(std::span<const T> parameters,
                                        std::span<const EdgeGroup> groups,
                                        const Matrix<T>& matrices, const Matrix<T>& in,
                                        const typename GatedTrace<T>::Round& at, Matrix<T>& d_rows,
                                        Matrix<T>& d_matrices, std::span<T> gradients) const {
  const Eigen::Index rows = in.rows(), width = in.cols();
  const Matrix<T> d_out = d_rows;
  const Matrix<T> d_candidate =
      (d_out.array() * (T(1) - at.update.array()) * (T(1) - at.candidate.array().square()))
          .matrix();
  Matrix<T> d_messages_part(rows, 3 * width), d_state_part(rows, 3 * width);
  d_messages_part.leftCols(width) =
      d_candidate.array() * at.state_part.array() * at.reset.array() * (T(1) - at.reset.array());
  d_messages_part.middleCols(width, width) =
      d_out.array() * (in - at.candidate).array() * at.update.array() * (T(1) - at.update.array());
  d_messages_part.rightCols(width) = d_candidate;
  d_state_part = d_messages_part;
  d_state_part.rightCols(width) = d_candidate.cwiseProduct(at.reset);

  d_rows = d_out.cwiseProduct(at.update);
  gate_state_.add_gradients(parameters, in, d_state_part, gradients, &d_rows);
  Matrix<T> d_messages = zeros<T>(rows, width);
  gate_messages_.add_gradients(parameters, at.messages, d_messages_part, gradients, &d_messages);
  d_messages = (at.messages.array() > T(0)).select(d_messages, T(0));
  MutableMatrixView<T>(gradients.data() + message_offsets_, 1, width).row(0) +=
      d_messages.colwise().sum();

  Matrix<T> d_passed, d_gathered, turned;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<std::uint32_t>& targets = groups[g].targets;
    d_passed.resize(static_cast<Eigen::Index>(targets.size()), width);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      d_passed.row(static_cast<Eigen::Index>(i)) = d_messages.row(targets[i]);
    }
    add_product<T>(width_, targets.size(), width_, {at.gathered[g].data(), 1, width_},
                   d_passed.data(), d_matrices.row(static_cast<Eigen::Index>(g)).data());
    turned = matrix_of(matrices, g, width).transpose();
    d_gathered.setZero(d_passed.rows(), width);
    add_product<T>(targets.size(), width_, width_, {d_passed.data(), width_, 1}, turned.data(),
                   d_gathered.data());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      for (const Incoming& some : groups[g].incoming[i]) {
        d_rows.row(some.from) +=
            static_cast<T>(some.edges) * d_gathered.row(static_cast<Eigen::Index>(i));
      }
    }
  }
}

#define DOPPLER_GATED_OF(T)                                                                        \
  template void GatedMessages::run(std::span<const T>, std::span<const EdgeGroup>, GatedTrace<T>&) \
      const;                                                                                       \
  template void GatedMessages::add_gradients(std::span<const T>, std::span<const EdgeGroup>,       \
                                             const GatedTrace<T>&, Matrix<T>&, std::span<T>)       \
      const;
DOPPLER_GATED_OF(float)
DOPPLER_GATED_OF(double)
#undef DOPPLER_GATED_OF

}  // namespace doppler::nn
