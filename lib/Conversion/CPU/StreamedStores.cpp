//===- StreamedStores.cpp - Results that bypass the cache -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StreamedStores.h"

#include "../KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

using namespace mlir;
using namespace mlir::remat;

/// Twice the last cache of a common processor: of less, the next kernel finds
/// a part there.
static constexpr int64_t kLeastBytes = int64_t(64) << 20;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

Value mlir::remat::getWholeBuffer(Value memref) {
  while (auto part = memref.getDefiningOp<memref::SubViewOp>())
    memref = part.getSource();
  return memref;
}

/// Returns true if parts of `memref` begin with a line if it does: they leave
/// the innermost dimension whole, and each of the others steps by whole lines.
static bool keepsLines(Value memref, int64_t lanes) {
  while (auto part = memref.getDefiningOp<memref::SubViewOp>()) {
    MemRefType type = part.getSourceType();
    auto [strides, offset] = type.getStridesAndOffset();
    if (strides.empty() || strides.back() != 1 ||
        !isConstantIntValue(part.getMixedOffsets().back(), 0) ||
        llvm::any_of(ArrayRef(strides).drop_back(), [&](int64_t stride) {
          return ShapedType::isDynamic(stride) || stride % lanes != 0;
        }))
      return false;
    memref = part.getSource();
  }
  return true;
}

/// Returns true if anything in the kernel reads memory of `output`.
static bool isRead(const LoopNest &nest, const Access &output,
                   scf::ParallelOp rows) {
  Value whole = getWholeBuffer(output.source);
  auto readsIt = [&](linalg::LinalgOp op) {
    return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
      return getWholeBuffer(operand.get()) == whole &&
             (op.isDpsInput(&operand) ||
              op.payloadUsesValueFromOperand(&operand));
    });
  };
  if (!rows)
    return readsIt(nest.op);
  return rows
      .walk([&](linalg::LinalgOp op) {
        return readsIt(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

SmallVector<unsigned> mlir::remat::findStreamed(const LoopNest &nest,
                                                const KernelPlan &plan,
                                                scf::ParallelOp rows) {
  SmallVector<unsigned> streamed;
  if (plan.isSequential || !plan.vectorLoop || plan.lanes == 1 ||
      nest.hasReduction() ||
      (!rows && plan.threadLoops.empty() && plan.chunk == 0))
    return streamed;
  for (unsigned number :
       llvm::seq<unsigned>(nest.numInputs, nest.accesses.size())) {
    const Access &output = nest.accesses[number];
    auto type =
        dyn_cast<MemRefType>(rows ? getWholeBuffer(output.source).getType()
                                  : output.source.getType());
    if (!type || !type.hasStaticShape() || !output.elementType.isIntOrFloat() ||
        output.elementType.getIntOrFloatBitWidth() < 16 ||
        estimateBytes(type) < kLeastBytes ||
        !isConstantIntValue(output.start, 0))
      continue;
    unsigned along = *plan.vectorLoop;
    if (!output.isContiguousIn(along) && plan.blockLoop)
      along = *plan.blockLoop;
    bool isOfLines =
        output.isContiguousIn(along) &&
        llvm::all_of(llvm::seq<unsigned>(nest.loops.size()), [&](unsigned i) {
          std::optional<int64_t> stride =
              getConstantIntValue(output.strides[i]);
          return i == along || (stride && *stride % plan.lanes == 0);
        });
    if (isOfLines && (!rows || keepsLines(output.source, plan.lanes)) &&
        !isRead(nest, output, rows))
      streamed.push_back(number);
  }
  return streamed;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

Value mlir::remat::emitBeginWithLines(OpBuilder &b, Location loc,
                                      ValueRange memrefs) {
  Value all;
  for (Value memref : memrefs) {
    auto type = cast<MemRefType>(memref.getType());
    int64_t width = type.getElementTypeBitWidth() / 8;
    Value address =
        memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
    auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, memref);
    Value bytes =
        arith::MulIOp::create(b, loc, metadata.getOffset(),
                              arith::ConstantIndexOp::create(b, loc, width));
    address = arith::AddIOp::create(b, loc, address, bytes);
    all = all ? arith::OrIOp::create(b, loc, all, address) : address;
  }
  Value rest = arith::AndIOp::create(
      b, loc, all, arith::ConstantIndexOp::create(b, loc, kCacheLine - 1));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rest,
                               arith::ConstantIndexOp::create(b, loc, 0));
}
