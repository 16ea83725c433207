//===- PhiloxToArith.cpp - Random blocks as arithmetic --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A generator is one operation as long as passes move kernels around, and what
// LLVM has vector instructions for afterwards.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Random/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTPHILOXTOARITH
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

namespace {
struct ConvertPhiloxToArith
    : remat::impl::ConvertPhiloxToArithBase<ConvertPhiloxToArith> {
  void runOnOperation() override {
    SmallVector<remat::PhiloxOp> blocks;
    getOperation()->walk([&](remat::PhiloxOp op) { blocks.push_back(op); });
    if (blocks.empty())
      return markAllAnalysesPreserved();
    IRRewriter rewriter(&getContext());
    for (remat::PhiloxOp op : blocks) {
      if (isa<TensorType>(op.getType(0))) {
        op.emitOpError("of tensors has to become one of their elements first; "
                       "run -convert-elementwise-to-linalg");
        return signalPassFailure();
      }
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(
          op, remat::emitPhilox4x32_10(rewriter, op.getLoc(),
                                       {op.getCounter0(), op.getCounter1(),
                                        op.getCounter2(), op.getCounter3()},
                                       {op.getKey0(), op.getKey1()}));
    }
  }
};
} // namespace
