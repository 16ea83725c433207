//===- Blas.h - The BLAS routines that the runtime uses --------*- C++ -*-===//
//
// OpenBLAS is loaded when the first product is computed, not linked: which of
// its kernels it uses is decided by environment variables that it reads once.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_BLAS_H
#define REMAT_RUNTIME_BLAS_H

namespace remat {

/// CBLAS's own values of its enumerations.
enum Order : int { kRowMajor = 101 };
enum Transpose : int { kNoTranspose = 111, kTranspose = 112 };

template <typename T>
using GemmFn = void (*)(Order, Transpose, Transpose, int m, int n, int k,
                        T alpha, const T *a, int lda, const T *b, int ldb,
                        T beta, T *c, int ldc);

struct Blas {
  GemmFn<float> sgemm;
  GemmFn<double> dgemm;
};

/// The library, single-threaded. Thread safe. Ends the program with a message
/// if OpenBLAS cannot be loaded.
const Blas &blas();

template <typename T> GemmFn<T> gemmOf(const Blas &blas);
template <> inline GemmFn<float> gemmOf<float>(const Blas &blas) {
  return blas.sgemm;
}
template <> inline GemmFn<double> gemmOf<double>(const Blas &blas) {
  return blas.dgemm;
}

} // namespace remat

#endif // REMAT_RUNTIME_BLAS_H
