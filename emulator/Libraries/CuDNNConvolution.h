//===- CuDNNConvolution.h - A convolution of the emulated cuDNN -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_LIBRARIES_CUDNNCONVOLUTION_H
#define REMAT_EMULATOR_LIBRARIES_CUDNNCONVOLUTION_H

#include "remat/CUDA/CuDNN.h"

namespace remat::cuda {

/// Images (n, c, h, w), or filters (k, c, h, w), of either layout.
struct EmulatedArray {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  int64_t n = 0, c = 0, h = 0, w = 0;

  bool isChannelsFirst() const { return format == CUDNN_TENSOR_NCHW; }
  size_t elements() const { return n * c * h * w; }
  size_t bytes() const {
    return elements() * (type == CUDNN_DATA_DOUBLE ? 8 : 4);
  }
};

struct EmulatedWindow {
  int64_t padH = 0, padW = 0, strideH = 0, strideW = 0, dilationH = 0,
          dilationW = 0;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  int64_t groups = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

enum class ConvolutionKind { forward, backwardData, backwardFilter };

/// A convolution with its operands, to be computed when the stream gets there.
struct EmulatedConvolution {
  ConvolutionKind kind;
  EmulatedArray images, filters, results;
  EmulatedWindow window;
  void *imageData, *filterData, *resultData;
  /// Overwritten, as an algorithm may.
  void *workspace;
  size_t workspaceBytes;

  /// Returns true if factors are rounded to TF32.
  bool rounds() const { return window.math == CUDNN_TENSOR_OP_MATH; }
  void compute() const;
  size_t bytesWritten() const {
    return kind == ConvolutionKind::forward        ? results.bytes()
           : kind == ConvolutionKind::backwardData ? images.bytes()
                                                   : filters.bytes();
  }
  size_t bytesRead() const {
    return images.bytes() + filters.bytes() + results.bytes() - bytesWritten();
  }
};

} // namespace remat::cuda

#endif // REMAT_EMULATOR_LIBRARIES_CUDNNCONVOLUTION_H
