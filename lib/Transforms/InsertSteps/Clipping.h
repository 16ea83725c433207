//===- Clipping.h - Limits on the norm of gradients -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What clipping by one gradient's norm and by all gradients' norm share.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_INSERTSTEPS_CLIPPING_H
#define REMAT_LIB_TRANSFORMS_INSERTSTEPS_CLIPPING_H

#include "mlir/IR/Builders.h"

namespace mlir::remat {

/// The epsilon of torch.nn.utils.clip_grad_norm_, added to the norm.
inline constexpr double torchClipEps = 1e-6;

/// min(1, maxNorm / (norm + eps)) in f64.
Value emitClipFactor(OpBuilder &builder, Location loc, Value norm,
                     double maxNorm, double eps);

/// An f64 constant.
Value emitF64(OpBuilder &builder, Location loc, double value);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_INSERTSTEPS_CLIPPING_H
