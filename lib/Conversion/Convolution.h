//===- Convolution.h - Which operand of a convolution is what ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// remat.conv and its gradients have the same three arrays in other roles.
// Targets ask here, on tensors and on memrefs.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CONVOLUTION_H
#define REMAT_LIB_CONVERSION_CONVOLUTION_H

#include "remat/Dialect/Remat/IR/ConvLayout.h"

#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::remat {

struct Convolution {
  enum class Kind { Forward, BackwardData, BackwardFilter };

  Operation *op;
  Kind kind;
  Value images, filters, results;
  ArrayRef<int64_t> strides, dilations, padding;
  bool channelsFirst;

  /// Returns the suffix of runtime functions: "", "_backward_data" or
  /// "_backward_filter".
  StringRef getSuffix() const;

  /// How many dimensions there are in space.
  unsigned getRank() const { return strides.size(); }

  /// Which dimension of the arrays is what.
  ::remat::ConvDims getDims() const {
    return ::remat::getConvDims(channelsFirst, getRank());
  }

  /// Returns true if all sizes but the number of images are known.
  bool hasKnownSizes() const;
};

/// `op` in its roles, if it is one of `remat.conv` and its gradients.
std::optional<Convolution> getConvolution(Operation *op);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CONVOLUTION_H
