//===- ApproximateMath.cpp - Elementary functions as polynomials ----------===//
//
// LLVM turns a vector of exp into sixteen calls of expf. These are a few
// instructions on the whole vector instead.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::remat {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

namespace {
struct ApproximateMath : remat::impl::ApproximateMathBase<ApproximateMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    // The upstream approximations that are accurate to a few units in the last
    // place; sin and cos lose all digits for large arguments and stay away.
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained({"math.erf", "math.exp", "math.expm1",
                                 "math.log", "math.log1p", "math.log2",
                                 "math.tanh"},
                                name);
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
