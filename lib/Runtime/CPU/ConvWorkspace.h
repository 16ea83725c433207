//===- ConvWorkspace.h - What convolutions of any layout share --*- C++ -*-===//
//
// Where threads gather, how matrices are written down, and the entry points.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CONVWORKSPACE_H
#define REMAT_RUNTIME_CONVWORKSPACE_H

#include "Gemm.h"
#include "MemRef.h"
#include "remat/Runtime/ConvPlan.h"
#include "remat/Runtime/Runtime.h"

#include <omp.h>

namespace remat {

template <typename T> struct Workspace {
  T *shared;
  T *slots;
  int64_t slotElements;
  int threads;

  T *slot() const { return slots + omp_get_thread_num() * slotElements; }
};

template <typename T>
Workspace<T> divide(const ConvPlan &plan, const MemRef<int8_t, 1> &memory) {
  int64_t elements = memory.sizes[0] / static_cast<int64_t>(sizeof(T));
  int64_t slots = plan.slotElements
                      ? (elements - plan.sharedElements) / plan.slotElements
                      : omp_get_max_threads();
  if (slots < 1)
    fail("a convolution was compiled with too small a workspace");
  T *data = reinterpret_cast<T *>(memory.data());
  return {data, data + plan.sharedElements, plan.slotElements,
          static_cast<int>(std::min<int64_t>(slots, omp_get_max_threads()))};
}

template <typename T> void fillWithZeros(const MemRef<T, 4> &memory) {
  int64_t elements = 1;
  for (int64_t size : memory.sizes)
    elements *= size;
  std::fill_n(memory.data(), elements, T(0));
}

/// Dense row-major matrix.
template <typename T>
Matrix<T> matrix(T *data, int64_t rows, int64_t columns, int64_t stride) {
  return {data, rows, columns, stride, 1};
}
template <typename T>
Matrix<T> transposed(T *data, int64_t rows, int64_t columns, int64_t stride) {
  return {data, rows, columns, 1, stride};
}

} // namespace remat

/// The entry points of FUNCTION for f32 and f64. X, W and Y are which of the
/// operands a, b and c are images, filters and results, all row-major and
/// contiguous; `kChannelsFirst` is the including file's. `workspace` holds what
/// ConvPlan.h says for at least one slot.
#define REMAT_CONV(NAME, FUNCTION, X, W, Y)                                    \
  REMAT_CONV_OF(NAME##_f32, FUNCTION, float, X, W, Y)                          \
  REMAT_CONV_OF(NAME##_f64, FUNCTION, double, X, W, Y)

#define REMAT_CONV_OF(NAME, FUNCTION, T, X, W, Y)                              \
  REMAT_EXPORT void _mlir_ciface_remat_##NAME(                                 \
      MemRef<T, 4> *a, MemRef<T, 4> *b, MemRef<T, 4> *c,                       \
      MemRef<int8_t, 1> *workspace, int64_t strideH, int64_t strideW,          \
      int64_t dilationH, int64_t dilationW, int64_t padH, int64_t padW) {      \
    int64_t window[] = {strideH, strideW, dilationH, dilationW, padH, padW};   \
    ConvShape shape =                                                          \
        getConvShape(X->sizes, W->sizes, Y->sizes, window, kChannelsFirst);    \
    if (shape.isEmpty())                                                       \
      return fillWithZeros(*c);                                                \
    FUNCTION<T>(shape, a->data(), b->data(), c->data(), *workspace);           \
  }

#endif // REMAT_RUNTIME_CONVWORKSPACE_H
