//===- CuDNNConvolution.cpp - Compute what cuDNN is asked for -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By the CPU runtime's convolutions. Their filters are (kh, kw, c, k) if the
// channels are last.
//===----------------------------------------------------------------------===//

#include "CuDNNConvolution.h"

#include "MemRef.h"
#include "TF32.h"

#include <array>
#include <cstring>
#include <vector>

using namespace remat;
using namespace remat::cuda;

template <typename T>
using Function = void(MemRef<T, 4> *, MemRef<T, 4> *, MemRef<T, 4> *, int64_t,
                      int64_t, int64_t, int64_t, int64_t, int64_t);

#define REMAT_CONV(NAME)                                                       \
  Function<float> _mlir_ciface_remat_##NAME##_f32;                             \
  Function<double> _mlir_ciface_remat_##NAME##_f64;
extern "C" {
REMAT_CONV(conv_2d)
REMAT_CONV(conv_2d_backward_data)
REMAT_CONV(conv_2d_backward_filter)
REMAT_CONV(conv_2d_channels_first)
REMAT_CONV(conv_2d_channels_first_backward_data)
REMAT_CONV(conv_2d_channels_first_backward_filter)
}
#undef REMAT_CONV

/// By kind; channels last, then first.
template <typename T>
static Function<T> *getFunction(ConvolutionKind kind, bool isChannelsFirst);
#define REMAT_FUNCTIONS(T, SUFFIX)                                             \
  template <>                                                                  \
  Function<T> *getFunction<T>(ConvolutionKind kind, bool isChannelsFirst) {    \
    static constexpr Function<T> *all[3][2] = {                                \
        {_mlir_ciface_remat_conv_2d##SUFFIX,                                   \
         _mlir_ciface_remat_conv_2d_channels_first##SUFFIX},                   \
        {_mlir_ciface_remat_conv_2d_backward_data##SUFFIX,                     \
         _mlir_ciface_remat_conv_2d_channels_first_backward_data##SUFFIX},     \
        {_mlir_ciface_remat_conv_2d_backward_filter##SUFFIX,                   \
         _mlir_ciface_remat_conv_2d_channels_first_backward_filter##SUFFIX}};  \
    return all[int(kind)][isChannelsFirst];                                    \
  }
REMAT_FUNCTIONS(float, _f32)
REMAT_FUNCTIONS(double, _f64)
#undef REMAT_FUNCTIONS

template <typename T>
static MemRef<T, 4> view(void *data, std::array<int64_t, 4> s) {
  auto *elements = static_cast<T *>(data);
  return {elements,
          elements,
          0,
          {s[0], s[1], s[2], s[3]},
          {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1}};
}

template <typename T>
static MemRef<T, 4> viewImages(const EmulatedArray &x, void *data) {
  if (x.isChannelsFirst())
    return view<T>(data, {x.n, x.c, x.h, x.w});
  return view<T>(data, {x.n, x.h, x.w, x.c});
}

/// Visits the positions of elements in (k, h, w, c), and in (h, w, c, k).
template <typename Visit>
static void forEach(const EmulatedArray &filters, Visit visit) {
  int64_t rest = filters.c * filters.h * filters.w;
  for (int64_t k = 0; k < filters.n; ++k)
    for (int64_t i = 0; i < rest; ++i)
      visit(k * rest + i, i * filters.n + k);
}

template <typename T> static void computeAs(const EmulatedConvolution &conv) {
  const EmulatedArray &filters = conv.filters;
  bool isChannelsFirst = conv.images.isChannelsFirst();
  auto *filterData = static_cast<T *>(conv.filterData);
  std::vector<T> moved(isChannelsFirst ? 0 : filters.elements());
  if (!isChannelsFirst && conv.kind != ConvolutionKind::backwardFilter)
    forEach(filters,
            [&](int64_t from, int64_t to) { moved[to] = filterData[from]; });
  MemRef<T, 4> x = viewImages<T>(conv.images, conv.imageData);
  MemRef<T, 4> y = viewImages<T>(conv.results, conv.resultData);
  MemRef<T, 4> w =
      isChannelsFirst
          ? view<T>(filterData, {filters.n, filters.c, filters.h, filters.w})
          : view<T>(moved.data(), {filters.h, filters.w, filters.c, filters.n});

  const EmulatedWindow &s = conv.window;
  MemRef<T, 4> *operands[3][3] = {{&x, &w, &y}, {&y, &w, &x}, {&x, &y, &w}};
  auto [a, b, c] = operands[int(conv.kind)];
  getFunction<T>(conv.kind, isChannelsFirst)(
      a, b, c, s.strideH, s.strideW, s.dilationH, s.dilationW, s.padH, s.padW);
  if (!isChannelsFirst && conv.kind == ConvolutionKind::backwardFilter)
    forEach(filters,
            [&](int64_t to, int64_t from) { filterData[to] = moved[from]; });
}

/// On copies of the two operands that are read.
static void computeRounded(EmulatedConvolution conv) {
  auto round = [](const EmulatedArray &array, void *&data) {
    auto *elements = static_cast<const float *>(data);
    std::vector<float> rounded(elements, elements + array.elements());
    for (float &element : rounded)
      element = roundToTF32(element);
    data = rounded.data();
    return rounded;
  };
  std::vector<float> images, filters, results;
  if (conv.kind != ConvolutionKind::backwardData)
    images = round(conv.images, conv.imageData);
  if (conv.kind != ConvolutionKind::backwardFilter)
    filters = round(conv.filters, conv.filterData);
  if (conv.kind != ConvolutionKind::forward)
    results = round(conv.results, conv.resultData);
  computeAs<float>(conv);
}

void EmulatedConvolution::compute() const {
  std::memset(workspace, 0xff, workspaceBytes);
  if (rounds())
    return computeRounded(*this);
  if (images.type == CUDNN_DATA_DOUBLE)
    computeAs<double>(*this);
  else
    computeAs<float>(*this);
}
