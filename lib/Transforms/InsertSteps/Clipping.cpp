//===- Clipping.cpp - Limits on the norm of gradients ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Clipping.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::remat;

Value mlir::remat::emitF64(OpBuilder &builder, Location loc, double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF64FloatAttr(value));
}

Value mlir::remat::emitClipFactor(OpBuilder &builder, Location loc, Value norm,
                                  double maxNorm, double eps) {
  Value safe =
      arith::AddFOp::create(builder, loc, norm, emitF64(builder, loc, eps));
  Value factor =
      arith::DivFOp::create(builder, loc, emitF64(builder, loc, maxNorm), safe);
  return arith::MinimumFOp::create(builder, loc, factor,
                                   emitF64(builder, loc, 1));
}
