#include "doppler/kernel/cpu/blas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "doppler/base/error.h"

namespace doppler::kernel::cpu {
namespace {

// The functions of OpenBLAS that are used here. The library stays loaded to the end of the process.
struct OpenBlas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;
  decltype(&cblas_sgemv) sgemv = nullptr;
  decltype(&cblas_dgemv) dgemv = nullptr;
  decltype(&openblas_set_num_threads) set_num_threads = nullptr;
};

// Makes OpenBLAS start without threads of its own, while it is being loaded: it knows only this
// variable then. What the user has set stays.
class OneThreadAtStart {
 public:
  OneThreadAtStart() : set_(std::getenv(kVariable) == nullptr) {
    if (set_) ::setenv(kVariable, "1", 0);
  }
  OneThreadAtStart(const OneThreadAtStart&) = delete;
  OneThreadAtStart& operator=(const OneThreadAtStart&) = delete;
  ~OneThreadAtStart() {
    if (set_) ::unsetenv(kVariable);
  }

 private:
  static constexpr const char* kVariable = "OPENBLAS_NUM_THREADS";
  bool set_;
};

// Opens the library that this program was built with or, on another machine, the system's.
void* open_library() {
  const OneThreadAtStart one_thread;
  void* library = ::dlopen(DOPPLER_OPENBLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const std::string reason = ::dlerror();
  library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw SystemError(
        fmt::format("cannot load OpenBLAS, which kernels need: {}; {}", reason, ::dlerror()));
  }
  return library;
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) throw SystemError(fmt::format("OpenBLAS has no function {}", name));
}

OpenBlas load() {
  // OpenBLAS asks for this itself while it starts.
  require_blas_memory(1);
  void* const library = open_library();
  OpenBlas blas;
  find(library, "cblas_sgemm", blas.sgemm);
  find(library, "cblas_dgemm", blas.dgemm);
  find(library, "cblas_sgemv", blas.sgemv);
  find(library, "cblas_dgemv", blas.dgemv);
  find(library, "openblas_set_num_threads", blas.set_num_threads);
  return blas;
}

// Loads the library when it is called for the first time. Throws what load() does, each time.
const OpenBlas& blas() {
  static const OpenBlas loaded = load();
  return loaded;
}

int narrow(std::int64_t value) {
  return static_cast<int>(value);
}

CBLAS_TRANSPOSE flag(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

void call_gemm(CBLAS_TRANSPOSE a_flag, CBLAS_TRANSPOSE b_flag, int m, int n, int k, const float* a,
               int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  blas().sgemm(CblasRowMajor, a_flag, b_flag, m, n, k, 1.0f, a, lda, b, ldb, beta, c, ldc);
}

void call_gemm(CBLAS_TRANSPOSE a_flag, CBLAS_TRANSPOSE b_flag, int m, int n, int k, const double* a,
               int lda, const double* b, int ldb, double beta, double* c, int ldc) {
  blas().dgemm(CblasRowMajor, a_flag, b_flag, m, n, k, 1.0, a, lda, b, ldb, beta, c, ldc);
}

void call_gemv(CBLAS_TRANSPOSE a_flag, int rows, int columns, const float* a, int lda,
               const float* x, int x_step, float* y, int y_step) {
  blas().sgemv(CblasRowMajor, a_flag, rows, columns, 1.0f, a, lda, x, x_step, 1.0f, y, y_step);
}

void call_gemv(CBLAS_TRANSPOSE a_flag, int rows, int columns, const double* a, int lda,
               const double* x, int x_step, double* y, int y_step) {
  blas().dgemv(CblasRowMajor, a_flag, rows, columns, 1.0, a, lda, x, x_step, 1.0, y, y_step);
}

// Computes y = A x, or y += A x, for a matrix of m x k.
template <class T>
void gemv(std::int64_t m, std::int64_t k, const T* a, MatrixLayout a_layout, const T* x,
          std::int64_t x_step, bool accumulate, T* y, std::int64_t y_step) {
  // BLAS might multiply the content of y by 0, which would keep a NaN.
  if (!accumulate) {
    for (std::int64_t i = 0; i < m; ++i) y[i * y_step] = T{0};
  }
  const std::int64_t rows = a_layout.transposed ? k : m, columns = a_layout.transposed ? m : k;
  call_gemv(flag(a_layout.transposed), narrow(rows), narrow(columns), a, narrow(a_layout.leading),
            x, narrow(x_step), y, narrow(y_step));
}

}  // namespace

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, MatrixLayout a_layout,
          const T* b, MatrixLayout b_layout, bool accumulate, T* c, std::int64_t c_leading) {
  // With a vector on one side gemv is faster, since OpenBLAS's gemm copies operands that are read
  // only once.
  if (n == 1) {
    gemv(m, k, a, a_layout, b, b_layout.transposed ? 1 : b_layout.leading, accumulate, c,
         c_leading);
  } else if (m == 1) {
    gemv(n, k, b, {b_layout.leading, !b_layout.transposed}, a,
         a_layout.transposed ? a_layout.leading : 1, accumulate, c, std::int64_t{1});
  } else {
    call_gemm(flag(a_layout.transposed), flag(b_layout.transposed), narrow(m), narrow(n), narrow(k),
              a, narrow(a_layout.leading), b, narrow(b_layout.leading), accumulate ? T{1} : T{0}, c,
              narrow(c_leading));
  }
}

template void gemm<float>(std::int64_t, std::int64_t, std::int64_t, const float*, MatrixLayout,
                          const float*, MatrixLayout, bool, float*, std::int64_t);
template void gemm<double>(std::int64_t, std::int64_t, std::int64_t, const double*, MatrixLayout,
                           const double*, MatrixLayout, bool, double*, std::int64_t);

void use_one_blas_thread() {
  blas().set_num_threads(1);
}

void require_blas_memory(std::size_t threads) {
  // The workspace of a thread in OpenBLAS's builds for x86-64 (BUFFER_SIZE).
  constexpr std::size_t kWorkspaceBytes = std::size_t{128} << 20;
  std::vector<std::unique_ptr<std::byte[]>> workspaces(threads);
  // They are never touched, so that this takes only addresses and no memory.
  for (auto& workspace : workspaces) workspace.reset(new std::byte[kWorkspaceBytes]);
}

}  // namespace doppler::kernel::cpu
