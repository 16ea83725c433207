//===- ConvolutionInterface.cpp - Convolutions that programs ask for ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands lie in device memory as cuDNN takes them: the compiler made the
// copies that this needs.
//===----------------------------------------------------------------------===//

#include "MemRef.h"
#include "Session.h"

using namespace remat;
using namespace remat::cuda;

namespace {
/// The arguments that the program passes besides the arrays.
struct Window {
  int64_t channelsFirst, strideH, strideW, dilationH, dilationW, padH, padW,
      groups;
};
} // namespace

static ConvolutionShape makeShape(ConvolutionShape::Kind kind,
                                  cudnnDataType_t type, bool allowsTF32,
                                  const int64_t *x, const int64_t *w,
                                  const int64_t *y, int64_t workspaceBytes,
                                  const Window &window) {
  // Where the channels and the rows are, in all three arrays.
  int c = window.channelsFirst ? 1 : 3, h = window.channelsFirst ? 2 : 1;
  return {kind,
          type,
          allowsTF32,
          window.channelsFirst != 0,
          x[0],
          x[c],
          x[h],
          x[h + 1],
          w[0],
          w[h],
          w[h + 1],
          y[h],
          y[h + 1],
          window.strideH,
          window.strideW,
          window.dilationH,
          window.dilationW,
          window.padH,
          window.padW,
          window.groups,
          static_cast<size_t>(workspaceBytes)};
}

template <typename T>
static void convolve(ConvolutionShape::Kind kind, cudnnDataType_t type,
                     bool allowsTF32, const MemRef<T, 4> *x,
                     const MemRef<T, 4> *w, const MemRef<T, 4> *y,
                     const MemRef<char, 1> *workspace, const Window &window) {
  ConvolutionShape shape = makeShape(kind, type, allowsTF32, x->sizes, w->sizes,
                                     y->sizes, workspace->sizes[0], window);
  Session &current = session();
  auto toAddress = [](auto *data) { return reinterpret_cast<uint64_t>(data); };
  uint64_t words[] = {toAddress(x->data()), toAddress(w->data()),
                      toAddress(y->data()), toAddress(workspace->data())};
  static_assert(std::size(words) == Convolutions::kNumWords);
  // A sum of no products is 0. The kinds are in the order of what they write.
  constexpr int kWritten[] = {2, 0, 1};
  if (shape.isEmpty())
    return current.fill(words[kWritten[kind]], 0, shape.destinationBytes());
  const LibraryCall &plan =
      current.convolutions.plan(shape, words[3], [&] { current.flush(); });
  current.call(plan, words, Convolutions::kNumWords);
}

#define REMAT_CONVOLUTION(NAME, KIND)                                          \
  REMAT_CONVOLUTION_OF(NAME##_f32, KIND, float, CUDNN_DATA_FLOAT, false)       \
  REMAT_CONVOLUTION_OF(NAME##_tf32, KIND, float, CUDNN_DATA_FLOAT, true)       \
  REMAT_CONVOLUTION_OF(NAME##_f64, KIND, double, CUDNN_DATA_DOUBLE, false)

#define REMAT_CONVOLUTION_OF(NAME, KIND, T, TYPE, ALLOWS_TF32)                 \
  REMAT_EXPORT void _mlir_ciface_remat_cudnn_##NAME(                           \
      const MemRef<T, 4> *images, const MemRef<T, 4> *filters,                 \
      const MemRef<T, 4> *results, const MemRef<char, 1> *workspace,           \
      int64_t channelsFirst, int64_t strideH, int64_t strideW,                 \
      int64_t dilationH, int64_t dilationW, int64_t padH, int64_t padW,        \
      int64_t groups) {                                                        \
    convolve(ConvolutionShape::KIND, TYPE, ALLOWS_TF32, images, filters,       \
             results, workspace,                                               \
             {channelsFirst, strideH, strideW, dilationH, dilationW, padH,     \
              padW, groups});                                                  \
  }

REMAT_CONVOLUTION(conv_2d, kForward)
REMAT_CONVOLUTION(conv_2d_backward_data, kBackwardData)
REMAT_CONVOLUTION(conv_2d_backward_filter, kBackwardFilter)
