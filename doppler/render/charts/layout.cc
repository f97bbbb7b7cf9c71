#include "doppler/render/charts/layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "doppler/base/csr.h"

namespace doppler::render {
namespace {

// Width over height that suits a screen.
constexpr double kAspect = 2.2;
// Rounds of pulling nodes towards their neighbours; more change little.
constexpr int kRounds = 6;
constexpr std::size_t kFewestRows = 8;
// Empty rows between two lines of a folded graph.
constexpr double kLineGap = 2.0;
// Graphs of fewer layers stay on one line.
constexpr std::size_t kFewestColumns = 9;
// Rows of a picture that is much wider than high are further apart, up to this factor.
constexpr double kMostStretch = 2.0;

class LayerPlan {
 public:
  LayerPlan(std::size_t nodes, std::span<const LayoutEdge> edges)
      : y_(nodes, 0.0),
        before_(Csr<std::uint32_t>::build(nodes,
                                          [&](const auto& visit) {
                                            for (const LayoutEdge& e : edges) {
                                              if (e.from < e.to) visit(e.to, e.from);
                                            }
                                          })),
        after_(Csr<std::uint32_t>::build(nodes, [&](const auto& visit) {
          for (const LayoutEdge& e : edges) {
            if (e.from < e.to) visit(e.from, e.to);
          }
        })) {
    find_layers();
    for (std::vector<std::uint32_t>& layer : layers_) {
      for (std::size_t i = 0; i < layer.size(); ++i) {
        y_[layer[i]] = static_cast<double>(i) - static_cast<double>(layer.size() - 1) / 2.0;
      }
    }
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t l = 0; l < layers_.size(); ++l) arrange(layers_[l], before_, nullptr);
      for (std::size_t l = layers_.size(); l-- > 0;) arrange(layers_[l], after_, nullptr);
    }
    for (std::size_t l = 0; l < layers_.size(); ++l) arrange(layers_[l], before_, &after_);
  }

  Layout fold() const {
    Layout layout;
    layout.x.resize(y_.size());
    layout.y.resize(y_.size());
    if (layers_.empty()) return layout;
    const std::size_t lines = line_count();
    const std::size_t columns = (layers_.size() + lines - 1) / lines;
    double top = 0.5;  // in rows
    for (std::size_t begin = 0; begin < layers_.size(); begin += columns) {
      const std::size_t end = std::min(begin + columns, layers_.size());
      const auto [low, high] = extent(begin, end);
      for (std::size_t l = begin; l < end; ++l) {
        for (const std::uint32_t v : layers_[l]) {
          layout.x[v] = Layout::kColumnPitch * (static_cast<double>(l - begin) + 0.5);
          layout.y[v] = Layout::kRowPitch * (top + y_[v] - low);
        }
      }
      top += high - low + kLineGap;
    }
    layout.width = Layout::kColumnPitch * static_cast<double>(std::min(columns, layers_.size()));
    layout.height = Layout::kRowPitch * (top - kLineGap + 0.5);
    const double stretch = std::clamp(layout.width / (kAspect * layout.height), 1.0, kMostStretch);
    for (double& y : layout.y) y *= stretch;
    layout.height *= stretch;
    return layout;
  }

 private:
  // By the longest way from a node without predecessors; such a node stands right before what needs
  // it first. Layers of more nodes than a picture of good proportions is high are split.
  void find_layers() {
    const std::size_t nodes = y_.size();
    std::vector<std::uint32_t> layer(nodes, 0);
    std::uint32_t depth = 0;
    for (std::size_t v = 0; v < nodes; ++v) {
      for (const std::uint32_t u : before_[v]) layer[v] = std::max(layer[v], layer[u] + 1);
      depth = std::max(depth, layer[v] + 1);
    }
    for (std::size_t v = 0; v < nodes; ++v) {
      if (!before_[v].empty() || after_[v].empty()) continue;
      std::uint32_t first = depth;
      for (const std::uint32_t w : after_[v]) first = std::min(first, layer[w]);
      layer[v] = first - 1;
    }
    const std::size_t most = std::max(
        kFewestRows,
        static_cast<std::size_t>(std::ceil(std::sqrt(
            static_cast<double>(nodes) * Layout::kColumnPitch / (kAspect * Layout::kRowPitch)))));
    std::vector<std::vector<std::uint32_t>> whole(depth);
    for (std::size_t v = 0; v < nodes; ++v) {
      whole[layer[v]].push_back(static_cast<std::uint32_t>(v));
    }
    for (const std::vector<std::uint32_t>& members : whole) {
      const std::size_t parts = (members.size() + most - 1) / most;
      for (std::size_t p = 0; p < parts; ++p) {
        const auto at = [&](std::size_t i) {
          return members.begin() + static_cast<std::ptrdiff_t>(i * members.size() / parts);
        };
        layers_.emplace_back(at(p), at(p + 1));
      }
    }
  }

  // Moves the nodes of a layer as close to the mean of their neighbours as their distance allows:
  // least squares, by pooling neighbours that would overlap.
  void arrange(std::vector<std::uint32_t>& layer, const Csr<std::uint32_t>& neighbours,
               const Csr<std::uint32_t>* more) {
    for (const std::uint32_t v : layer) {
      double sum = 0.0;
      std::size_t count = 0;
      const auto add = [&](const Csr<std::uint32_t>& side) {
        for (const std::uint32_t u : side[v]) sum += y_[u];
        count += side[v].size();
      };
      add(neighbours);
      if (more != nullptr) add(*more);
      wish_[v] = count == 0 ? y_[v] : sum / static_cast<double>(count);
    }
    std::stable_sort(layer.begin(), layer.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return wish_[a] < wish_[b]; });
    // Blocks of nodes at distance 1 from each other; `sum` is that of where each wants the first.
    blocks_.clear();
    for (std::size_t i = 0; i < layer.size(); ++i) {
      blocks_.push_back({wish_[layer[i]] - static_cast<double>(i), 1});
      while (blocks_.size() > 1) {
        const Block last = blocks_.back();
        Block& previous = blocks_[blocks_.size() - 2];
        if (previous.sum * static_cast<double>(last.count) <
            last.sum * static_cast<double>(previous.count)) {
          break;
        }
        previous.sum += last.sum;
        previous.count += last.count;
        blocks_.pop_back();
      }
    }
    std::size_t i = 0;
    for (const Block& block : blocks_) {
      const double first = block.sum / static_cast<double>(block.count);
      for (std::size_t k = 0; k < block.count; ++k, ++i) {
        y_[layer[i]] = first + static_cast<double>(i);
      }
    }
  }

  std::pair<double, double> extent(std::size_t begin, std::size_t end) const {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (std::size_t l = begin; l < end; ++l) {
      for (const std::uint32_t v : layers_[l]) {
        low = std::min(low, y_[v]);
        high = std::max(high, y_[v]);
      }
    }
    return {low, high};
  }

  // As many lines as make the picture about kAspect times as wide as high.
  std::size_t line_count() const {
    if (layers_.size() < kFewestColumns) return 1;
    const auto [low, high] = extent(0, layers_.size());
    const double width = Layout::kColumnPitch * static_cast<double>(layers_.size());
    const double line = Layout::kRowPitch * (high - low + kLineGap);
    const double lines = std::round(std::sqrt(width / (kAspect * line)));
    return static_cast<std::size_t>(std::max(1.0, lines));
  }

  struct Block {
    double sum;
    std::size_t count;
  };

  std::vector<double> y_;  // by node, in rows
  Csr<std::uint32_t> before_, after_;
  std::vector<std::vector<std::uint32_t>> layers_;
  std::vector<double> wish_ = std::vector<double>(y_.size());
  std::vector<Block> blocks_;
};

}  // namespace

Layout layered_layout(std::size_t nodes, std::span<const LayoutEdge> edges) {
  return LayerPlan(nodes, edges).fold();
}

}  // namespace doppler::render
