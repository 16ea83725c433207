//===- Conv.cpp - Convolutions and their gradients ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ConvCorrelation.h"
#include "ConvDirect.h"
#include "ConvFilterGradient.h"

using namespace remat;

namespace {

/// Returns true if a convolution is a product of matrices with the same order
/// of sums, and cheaper as one: channels first, filters of one tap and images
/// are matrices. Products pack images, correlations transpose results.
bool isCheaperProduct(const ConvShape &s, bool channelsFirst, int64_t inputs,
                      int64_t outputs) {
  return channelsFirst && s.isPointwise() && inputs <= kPanelDepth &&
         inputs <= outputs;
}

template <typename T>
void multiplyPlanes(Context &context, const ConvShape &s, int64_t outputs,
                    int64_t inputs, Matrix<T> filters, T *images, T *results) {
  int64_t plane = s.inputs();
  auto planes = [&](T *data, int64_t channels) {
    return MemRef<T, 4>{
        data,
        data,
        0,
        {s.n, s.groups, channels, plane},
        {s.groups * channels * plane, channels * plane, plane, 1}};
  };
  gemm(context,
       MemRef<T, 4>{
           filters.data,
           filters.data,
           0,
           {s.n, s.groups, outputs, inputs},
           {0, inputs * outputs, filters.rowStride, filters.columnStride}},
       planes(images, inputs), planes(results, outputs), /*accumulate=*/false);
}

template <typename T>
void forward(Context &context, const ConvShape &s, bool channelsFirst, T *x,
             T *w, T *y) {
  if (s.isDirect())
    return channelsFirst ? directForward(context, s, x, w, y)
                         : depthwiseForward(context, s, x, w, y);
  if (isCheaperProduct(s, channelsFirst, s.c, s.f))
    return multiplyPlanes(context, s, s.f, s.c, Matrix<T>{w, s.f, s.c, s.c, 1},
                          x, y);
  Correlation<T>{Images<T>::inputs(s, x, channelsFirst),
                 Images<T>::outputs(s, y, channelsFirst),
                 s.n,
                 TapGrid::forward(s),
                 {w, s, channelsFirst},
                 s.groups,
                 s.c,
                 s.f}
      .compute(context);
}

/// With strides, one residue class of input positions after the other: each
/// meets other taps, and together these read consecutive output positions.
template <typename T>
void backwardData(Context &context, const ConvShape &s, bool channelsFirst,
                  T *dy, T *w, T *dx) {
  if (s.isDirect())
    return channelsFirst ? directBackwardData(context, s, dy, w, dx)
                         : depthwiseBackwardData(context, s, dy, w, dx);
  if (isCheaperProduct(s, channelsFirst, s.f, s.c))
    return multiplyPlanes(context, s, s.c, s.f, Matrix<T>{w, s.c, s.f, 1, s.c},
                          dy, dx);
  Images<T> cotangents = Images<T>::outputs(s, dy, channelsFirst);
  Images<T> gradients = Images<T>::inputs(s, dx, channelsFirst);
  Filters<T> filters(w, s, channelsFirst);
  std::swap(filters.channel, filters.filter);
  Images<T> residues = gradients;
  residues.slice *= s.z.stride;
  residues.row *= s.y.stride;
  residues.column *= s.x.stride;
  for (int64_t z0 = 0; z0 < std::min(s.z.stride, s.z.inputs); ++z0)
    for (int64_t y0 = 0; y0 < std::min(s.y.stride, s.y.inputs); ++y0)
      for (int64_t x0 = 0; x0 < std::min(s.x.stride, s.x.inputs); ++x0) {
        residues.data = gradients.at(0, z0, y0, x0, 0);
        TapGrid taps = TapGrid::backward(s, z0, y0, x0);
        Correlation<T>{cotangents, residues, s.n, taps,
                       filters,    s.groups, s.f, s.c}
            .compute(context);
      }
}

template <typename T>
void backwardFilter(Context &context, const ConvShape &s, bool channelsFirst,
                    T *x, T *dy, T *dw) {
  if (s.isDirect())
    return channelsFirst ? directBackwardFilter(context, s, x, dy, dw)
                         : depthwiseBackwardFilter(context, s, x, dy, dw);
  FilterGradient<T> gradient{Images<T>::inputs(s, x, channelsFirst),
                             Images<T>::outputs(s, dy, channelsFirst),
                             s.n,
                             TapGrid::forward(s),
                             {dw, s, channelsFirst},
                             s.groups,
                             s.c,
                             s.f};
  // Of a product, either operand can be packed: the smaller one.
  if (s.isPointwise() && s.c < s.f) {
    std::swap(gradient.images, gradient.cotangents);
    std::swap(gradient.channels, gradient.filters);
    std::swap(gradient.gradients.channel, gradient.gradients.filter);
  }
  gradient.compute(context);
}

} // namespace

#define REMAT_CONV_2D(NAME, FUNCTION, T, CHANNELS_FIRST, X, W, Y)              \
  REMAT_CORE void remat_core_##NAME(                                           \
      Context *context, MemRef<T, 4> *a, MemRef<T, 4> *b, MemRef<T, 4> *c,     \
      int64_t strideH, int64_t strideW, int64_t dilationH, int64_t dilationW,  \
      int64_t padH, int64_t padW) {                                            \
    int64_t window[] = {strideH, strideW, dilationH, dilationW, padH, padW};   \
    ConvShape shape =                                                          \
        getConvShape(2, X->sizes, W->sizes, Y->sizes, window, CHANNELS_FIRST); \
    if (shape.isEmpty())                                                       \
      return fillWithZeros(*c);                                                \
    FUNCTION<T>(*context, shape, CHANNELS_FIRST, a->data(), b->data(),         \
                c->data());                                                    \
  }

#define REMAT_CONV_3D(NAME, FUNCTION, T, CHANNELS_FIRST, X, W, Y)              \
  REMAT_CORE void remat_core_##NAME(                                           \
      Context *context, MemRef<T, 5> *a, MemRef<T, 5> *b, MemRef<T, 5> *c,     \
      int64_t strideD, int64_t strideH, int64_t strideW, int64_t dilationD,    \
      int64_t dilationH, int64_t dilationW, int64_t padD, int64_t padH,        \
      int64_t padW) {                                                          \
    int64_t window[] = {strideD,   strideH, strideW, dilationD, dilationH,     \
                        dilationW, padD,    padH,    padW};                    \
    ConvShape shape =                                                          \
        getConvShape(3, X->sizes, W->sizes, Y->sizes, window, CHANNELS_FIRST); \
    if (shape.isEmpty())                                                       \
      return fillWithZeros(*c);                                                \
    FUNCTION<T>(*context, shape, CHANNELS_FIRST, a->data(), b->data(),         \
                c->data());                                                    \
  }

REMAT_CONVOLUTIONS(REMAT_CONV_2D, REMAT_CONV_3D)
