// Contractions beside the plain cblas_sgemm calls that they come down to, in the same run and on
// one thread. Follow the ratio of the two.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <memory>
#include <string>
#include <vector>

#include "doppler/base/rng.h"
#include "doppler/kernel/cpu/runnable.h"
#include "doppler/kernel/kernel_call.h"
#include "doppler/kernel/registry.h"

namespace doppler {
namespace {

using kernel::Shape;

std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(rng.uniform(-1.0, 1.0));
  return values;
}

void count_flops(benchmark::State& state, double flops) {
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate,
                                               benchmark::Counter::kIs1000);
}

void contract(benchmark::State& state, const std::string& spec, const Shape& a, const Shape& b) {
  openblas_set_num_threads(1);
  const kernel::Registry registry = kernel::default_kernels();
  kernel::KernelCall call{"contract", {{"spec", spec}}, {a, b}, {}};
  call.outputs = registry.at(call.name).infer(call.attributes, call.inputs);
  const auto runnable = kernel::cpu::bind<float>(call);
  const auto x = random_floats(kernel::element_count(a), 1);
  const auto y = random_floats(kernel::element_count(b), 2);
  std::vector<float> out(static_cast<std::size_t>(kernel::element_count(call.outputs[0])));
  const std::vector<const float*> inputs = {x.data(), y.data()};
  const std::vector<float*> outputs = {out.data()};
  for (auto _ : state) {
    runnable->run(inputs, outputs);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  count_flops(state, registry.at(call.name).flops(call));
}

// `count` products of m x k and k x n, each operand dense and right after the one before.
void plain_sgemm(benchmark::State& state, int count, int m, int n, int k) {
  openblas_set_num_threads(1);
  const auto x = random_floats(std::int64_t{count} * m * k, 1);
  const auto y = random_floats(std::int64_t{count} * k * n, 2);
  std::vector<float> out(static_cast<std::size_t>(count) * m * n);
  for (auto _ : state) {
    for (int i = 0; i < count; ++i) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f,
                  x.data() + std::size_t(i) * m * k, k, y.data() + std::size_t(i) * k * n, n, 0.0f,
                  out.data() + std::size_t(i) * m * n, n);
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  count_flops(state, 2.0 * count * m * n * k);
}

BENCHMARK_CAPTURE(plain_sgemm, product_512, 1, 512, 512, 512);
BENCHMARK_CAPTURE(contract, product_512, "ab,bc->ac", {512, 512}, {512, 512});
BENCHMARK_CAPTURE(contract, product_512_transposed, "ba,cb->ca", {512, 512}, {512, 512});
// One whose summed labels stand in another order in each operand, so that one is copied.
BENCHMARK_CAPTURE(contract, product_512_copied, "ijk,kjl->il", {512, 16, 32}, {32, 16, 512});

// Scores of attention: 4 sequences of 128, 8 heads of 64, heads beside each other in a row.
BENCHMARK_CAPTURE(plain_sgemm, scores, 32, 128, 128, 64);
BENCHMARK_CAPTURE(contract, scores, "bshe,bthe->bhst", {4, 128, 8, 64}, {4, 128, 8, 64});
BENCHMARK_CAPTURE(plain_sgemm, attention, 32, 128, 64, 128);
BENCHMARK_CAPTURE(contract, attention, "bhst,bthe->bshe", {4, 8, 128, 128}, {4, 128, 8, 64});

}  // namespace
}  // namespace doppler
