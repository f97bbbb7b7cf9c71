// The right-looking tiled Cholesky factorisation of a matrix of T x T tiles, lower triangle:
//
//   for k:  potrf(k)                         factor tile (k, k)
//           trsm(i, k)      for i > k        solve for tile (i, k)
//           syrk(i, k)      for i > k        update tile (i, i) with tile (i, k)
//           gemm(i, j, k)   for i > j > k    update tile (i, j) with tiles (i, k) and (j, k)
//
// An op follows the last one that wrote each tile it touches. T (T + 1) (T + 2) / 6 ops.
#include <fmt/format.h>

#include "doppler/graph/generate/sketch.h"

namespace doppler::graph {
namespace {

// Floating-point operations on tiles of b x b, in units of b^3.
constexpr double kPotrfWork = 1.0 / 3.0;
constexpr double kTrsmWork = 1.0;
constexpr double kSyrkWork = 1.0;
constexpr double kGemmWork = 2.0;
constexpr double kTileSize = 1.0;
constexpr double kCholeskyTimeNoise = 0.05;

std::size_t cholesky_op_count(std::size_t tiles) {
  return tiles * (tiles + 1) * (tiles + 2) / 6;
}

std::size_t nearest_tiles(std::size_t nodes) {
  std::size_t tiles = 1;
  while (cholesky_op_count(tiles + 1) <= nodes) ++tiles;
  return cholesky_op_count(tiles + 1) - nodes < nodes - cholesky_op_count(tiles) ? tiles + 1
                                                                                 : tiles;
}

}  // namespace

Sketch sketch_cholesky(std::size_t nodes) {
  const std::size_t tiles = nearest_tiles(nodes);
  Sketch sketch;
  sketch.time_noise = kCholeskyTimeNoise;
  sketch.nodes.reserve(cholesky_op_count(tiles));
  sketch.edges.reserve(cholesky_op_count(tiles) * 3);
  constexpr std::uint32_t kUntouched = 0xffffffffu;
  std::vector<std::uint32_t> writer(tiles * tiles, kUntouched);  // of each tile so far
  const auto tile = [&](std::size_t i, std::size_t j) -> std::uint32_t& {
    return writer[i * tiles + j];
  };
  const auto read = [&](std::uint32_t from, std::uint32_t node) {
    if (from != kUntouched) sketch.connect(from, node);
  };
  const auto update = [&](std::uint32_t& written, std::uint32_t node) {
    read(written, node);
    written = node;
  };
  for (std::size_t k = 0; k < tiles; ++k) {
    update(tile(k, k), sketch.add(fmt::format("potrf.{}", k), "potrf", kPotrfWork, kTileSize));
    for (std::size_t i = k + 1; i < tiles; ++i) {
      const auto node = sketch.add(fmt::format("trsm.{}.{}", i, k), "trsm", kTrsmWork, kTileSize);
      read(tile(k, k), node);
      update(tile(i, k), node);
    }
    for (std::size_t i = k + 1; i < tiles; ++i) {
      const auto syrk = sketch.add(fmt::format("syrk.{}.{}", i, k), "syrk", kSyrkWork, kTileSize);
      read(tile(i, k), syrk);
      update(tile(i, i), syrk);
      for (std::size_t j = k + 1; j < i; ++j) {
        const auto gemm =
            sketch.add(fmt::format("gemm.{}.{}.{}", i, j, k), "gemm", kGemmWork, kTileSize);
        read(tile(i, k), gemm);
        read(tile(j, k), gemm);
        update(tile(i, j), gemm);
      }
    }
  }
  return sketch;
}

}  // namespace doppler::graph
