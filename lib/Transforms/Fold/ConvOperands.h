//===- ConvOperands.h - Operands of linalg's convolutions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linalg has a convolution for each order of dimensions, remat.conv and its
// gradients have two. What the images of a convolution are padded with belongs
// to the convolution.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_FOLD_CONVOPERANDS_H
#define REMAT_LIB_TRANSFORMS_FOLD_CONVOPERANDS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace mlir::remat {

/// Where the dimensions of a linalg convolution's operands go in those of
/// remat.conv, one digit for each of them. One dimension in space becomes
/// the width, groups become one dimension with their channels, and the filters
/// of depthwise convolutions have one channel.
struct ConvForm {
  /// Dimensions in space of remat.conv.
  unsigned rank;
  bool channelsFirst;
  StringRef images, filters, results;
  /// Of all dimensions in space.
  SmallVector<int64_t> strides = {}, dilations = {};

  /// The axis in space of a dimension with `digit`, if it is one.
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

/// None for another operation, or if a depthwise convolution has several
/// filters for each channel.
std::optional<ConvForm> getConvForm(Operation *op);

/// Whether the library has the types of a convolution on tensors, and a
/// workspace can be reserved.
bool isConvForLibrary(linalg::LinalgOp op);

/// A dimension in space of what a convolution reads: `size` positions, of which
/// low + i * step is element i of `count`, and all others are zero. Elements
/// may lie outside.
struct PaddedAxis {
  int64_t size, count, low = 0, step = 1;

  int64_t high() const { return size - low - (count - 1) * step - 1; }
};

/// Images, and how zeros lie around and between their elements.
struct PaddedImages {
  Value source;
  SmallString<8> digits;
  SmallVector<PaddedAxis> axes;
  /// Of what pads.
  SmallVector<Location> locs;
  /// Whether something pads at all, and whether between elements.
  bool isPadded = false, isStuffed = false;
};

/// The images that `value` holds, which is read by a convolution of `form`,
/// before they were padded with zeros. If `mayStuff`, also between elements,
/// and slices may have been taken afterwards: axes may have a negative `low` or
/// `high`.
PaddedImages getPaddedImages(Value value, const ConvForm &form, bool mayStuff);

/// The result of `op`, of that form, by a `ConvT` of `images` and `filters`,
/// and with the accumulator of `op`, a bias perhaps, added to it.
template <typename ConvT>
Value createConv(OpBuilder &builder, linalg::LinalgOp op, const ConvForm &form,
                 const PaddedImages &images, Value filters,
                 ArrayRef<int64_t> strides, ArrayRef<int64_t> padding);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_FOLD_CONVOPERANDS_H
