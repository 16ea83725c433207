//===- ConvOperands.h - Operands of linalg's convolutions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linalg has a convolution for each order of dimensions, remat.conv and its
// gradients have two. The padding of the images belongs to the convolution.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_FOLD_CONVOPERANDS_H
#define REMAT_LIB_TRANSFORMS_FOLD_CONVOPERANDS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace mlir::remat {

/// Maps the dimensions of a linalg convolution's operands to those of
/// remat.conv, one digit for each of them. One dimension in space becomes the
/// width, groups become one dimension with their channels, and the filters of
/// depthwise convolutions have one channel.
struct ConvForm {
  /// The number of remat.conv's dimensions in space.
  unsigned rank;
  bool channelsFirst;
  StringRef images, filters, results;
  /// For all dimensions in space.
  SmallVector<int64_t> strides = {}, dilations = {};

  /// Returns the axis in space of a dimension with `digit`, or nullopt.
  std::optional<unsigned> getAxis(char digit) const {
    return getAxis(digit, channelsFirst ? '2' : '1');
  }
  std::optional<unsigned> getFilterAxis(char digit) const {
    return getAxis(digit, channelsFirst ? '2' : '0');
  }
  /// The digits of filters' channels and of filters.
  char filterChannel() const { return channelsFirst ? '1' : '0' + rank; }
  char filter() const { return channelsFirst ? '0' : '1' + rank; }

private:
  std::optional<unsigned> getAxis(char digit, char first) const {
    if (digit < first || digit >= first + static_cast<int>(rank))
      return std::nullopt;
    return digit - first;
  }
};

/// Returns nullopt for any other operation, or if a depthwise convolution has
/// several filters for each channel.
std::optional<ConvForm> getConvForm(Operation *op);

/// Returns true if the library supports the types of a convolution on tensors,
/// and a workspace can be reserved.
bool isConvForLibrary(linalg::LinalgOp op);

/// A dimension in space of a convolution's images: `size` positions, of which
/// low + i * step is element i of `count`, and all others are zero. Elements
/// may lie outside.
struct PaddedAxis {
  int64_t size, count, low = 0, step = 1;

  int64_t high() const { return size - low - (count - 1) * step - 1; }
};

/// Images, and the zeros around and between their elements.
struct PaddedImages {
  Value source;
  SmallString<8> digits;
  SmallVector<PaddedAxis> axes;
  /// The locations of the padding operations.
  SmallVector<Location> locs;
  /// True if there is any padding, and if there is some between elements.
  bool isPadded = false, isStuffed = false;
};

/// Returns the images that `value`, which a convolution of `form` reads, holds
/// before they were padded with zeros. If `mayStuff`, also before zeros were
/// inserted between elements and slices taken afterwards: axes may have a
/// negative `low` or `high`.
PaddedImages getPaddedImages(Value value, const ConvForm &form, bool mayStuff);

/// Creates the result of `op`, of that form, by a `ConvT` of `images` and
/// `filters`, and adds the accumulator of `op`, such as a bias.
template <typename ConvT>
Value createConv(OpBuilder &builder, linalg::LinalgOp op, const ConvForm &form,
                 const PaddedImages &images, Value filters,
                 ArrayRef<int64_t> strides, ArrayRef<int64_t> padding);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_FOLD_CONVOPERANDS_H
