//===- LowerVectorsAndMath.cpp - Where there are vectors or functions -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step is one long block of calls. Upstream's conversions look at each of its
// operations several times, although what they convert stands in kernels.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Passes.h"

#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::remat {
#define GEN_PASS_DEF_LOWERVECTORSANDMATH
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

static bool hasVectorsOrMath(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        return isa_and_nonnull<vector::VectorDialect, math::MathDialect>(
                   op->getDialect())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct LowerVectorsAndMath
    : mlir::remat::impl::LowerVectorsAndMathBase<LowerVectorsAndMath> {
  void getDependentDialects(DialectRegistry &registry) const override {
    makePipeline().getDependentDialects(registry);
  }

  void runOnOperation() override {
    OpPassManager pipeline = makePipeline();
    SmallVector<func::FuncOp> functions;
    getOperation()->walk([&](func::FuncOp function) {
      if (hasVectorsOrMath(function))
        functions.push_back(function);
    });
    if (functions.empty())
      return markAllAnalysesPreserved();
    for (func::FuncOp function : functions)
      if (failed(runPipeline(pipeline, function)))
        return signalPassFailure();
  }

private:
  static OpPassManager makePipeline() {
    OpPassManager pipeline(func::FuncOp::getOperationName());
    pipeline.addPass(createConvertVectorToSCFPass());
    pipeline.addPass(createConvertMathToLLVMPass());
    pipeline.addPass(createConvertVectorToLLVMPass());
    return pipeline;
  }
};
} // namespace
