//===- AttentionToGPU.cpp - Attention on device memory to kernels ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Taken apart, attention moves an array of a number for each pair of positions
// through memory several times.
//===----------------------------------------------------------------------===//

#include "../Products.h"
#include "AttentionKernels.h"
#include "KernelLaunch.h"
#include "remat/Conversion/CUDA/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTATTENTIONTOGPU
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Removes the fills with zero of the destinations that nothing else reads, and
/// says which those are.
static SmallVector<bool> takeZeroFills(AttentionBackwardOp op) {
  SmallVector<bool> isZero;
  for (unsigned number : llvm::seq<unsigned>(op.getInits().size())) {
    linalg::FillOp fill = findFill(op, number);
    isZero.push_back(fill &&
                     matchPattern(fill.getInputs()[0], m_PosZeroFloat()));
    if (isZero.back())
      fill.erase();
  }
  return isZero;
}

template <typename Op>
static LogicalResult convert(Op op, KernelTable<gpu::GPUFuncOp> &table,
                             bool tf32, bool traffic) {
  std::string reason;
  FailureOr<AttentionPlan> plan = planAttention(op, reason);
  if (failed(plan)) {
    InFlightDiagnostic error = op.emitOpError()
                               << "has no kernel for a GPU: " << reason;
    error.attachNote() << "convert-linalg-aggregates-to-structured makes "
                          "products and a softmax of it, on tensors";
    return error;
  }
  if (tf32 && plan->matrixType && plan->matrixType.isF32())
    plan->roundsFactors = true;
  OpBuilder builder(op);
  if constexpr (std::is_same_v<Op, AttentionOp>)
    launchAttention(builder, table, op, *plan, traffic);
  else
    launchAttentionBackward(builder, table, op, *plan, takeZeroFills(op),
                            traffic);
  op->erase();
  return success();
}

namespace {
struct ConvertAttentionToGPU
    : mlir::remat::impl::ConvertAttentionToGPUBase<ConvertAttentionToGPU> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Operation *op) {
        if (isa<AttentionOp, AttentionBackwardOp>(op) &&
            cast<DestinationStyleOpInterface>(op).hasPureBufferSemantics())
          ops.push_back(op);
      });
    if (ops.empty())
      return markAllAnalysesPreserved();
    KernelTable<gpu::GPUFuncOp> table(getOrCreateKernelModule(getOperation()));
    for (Operation *op : ops) {
      auto forward = dyn_cast<AttentionOp>(op);
      if (failed(forward ? convert(forward, table, tf32, traffic)
                         : convert(cast<AttentionBackwardOp>(op), table, tf32,
                                   traffic)))
        return signalPassFailure();
    }
  }
};
} // namespace
