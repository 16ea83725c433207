//===- WarpShuffle.h - What the threads of a warp exchange ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_CUDA_WARPSHUFFLE_H
#define REMAT_LIB_CONVERSION_CUDA_WARPSHUFFLE_H

#include "mlir/IR/Builders.h"

namespace mlir::remat {

/// Threads of a warp.
inline constexpr int64_t kWarp = 32;

/// Returns true if `type` is made of words of 32 bits, or of a part of one.
bool canShuffle(Type type);

/// `value` of the thread whose number differs from this one's by the bit
/// `distance`, of a type that can be shuffled. All threads of the warp meet
/// here.
Value createShuffle(OpBuilder &b, Location loc, Value value, int64_t distance);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_WARPSHUFFLE_H
