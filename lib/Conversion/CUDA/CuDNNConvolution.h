//===- CuDNNConvolution.h - A convolution as cuDNN takes it -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuDNN pads both sides of an image by the same number and derives the size of
// the result; its filters of images with channels last are (f, kh, kw, c). This
// says which operands have to be copied for that. The pass that calls the
// library and the one that foresees its memory both ask.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CUDA_CUDNNCONVOLUTION_H
#define REMAT_LIB_CONVERSION_CUDA_CUDNNCONVOLUTION_H

#include "../Convolution.h"

#include <array>
#include <string>

namespace mlir::remat {

/// An operand, and the buffer that cuDNN gets in its place. Sizes are in the
/// operand's order of dimensions.
struct LibraryOperand {
  Value original;
  /// Which dimension of the operand each dimension of the buffer is; empty if
  /// they are in the same order.
  SmallVector<int64_t> permutation;
  /// Of the buffer. The number of images may be dynamic.
  SmallVector<int64_t> sizes;
  /// Elements from the operand's start on that the convolution reads or writes
  /// (`used`) are in the buffer from `offsets` on; zeros are around them.
  SmallVector<int64_t> offsets, used;

  ArrayRef<int64_t> getOriginalSizes() const;
  bool isPermuted() const { return !permutation.empty(); }
  /// Returns true if elements of the buffer are padding.
  bool hasPadding() const { return sizes != used; }
  /// Returns true if elements of the operand take no part.
  bool isCropped() const {
    return getOriginalSizes() != ArrayRef<int64_t>(used);
  }
  bool isCopied() const { return isPermuted() || hasPadding() || isCropped(); }
  /// Of the buffer, if it is a copy of known size; else 0. Saturates.
  int64_t getCopiedBytes() const;
};

struct CuDNNConvolution {
  Convolution conv;
  /// As cuDNN sees it.
  bool channelsFirst;
  LibraryOperand images, filters, results;
  std::array<int64_t, 2> padding;
  int64_t groups;
  /// Memory that the algorithm gets in any case.
  int64_t leastBytes;

  /// Which of the three is written.
  const LibraryOperand &getDestination() const;
  /// Returns its runtime function; `tf32`: factors of f32 may be rounded.
  std::string getFunction(bool tf32) const;
  /// Returns true if each result is computed from the channels of one position.
  bool isPointwise() const;
  /// Memory for an algorithm: tables; the operands in an order of the library's
  /// own, unless it is a product of them as they are; and partial sums of a
  /// gradient of filters, which has few results of many summands. A library
  /// that has more than one algorithm takes the first that fits; its implicit
  /// products need none.
  int64_t getAlgorithmBytes() const;
  /// Returns its bytes besides operands and results, each buffer rounded to the
  /// alignment of the device's memory.
  int64_t getWorkspaceBytes() const;
};

/// `conv`, all of whose sizes but the number of images are known, with at least
/// so much memory for its algorithm.
CuDNNConvolution planCuDNNConvolution(const Convolution &conv,
                                      int64_t leastBytes = 0);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_CUDNNCONVOLUTION_H
