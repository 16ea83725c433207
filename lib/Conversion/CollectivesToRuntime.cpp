//===- CollectivesToRuntime.cpp - Exchanges to calls of the runtime -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call gets addresses, which say nothing of the memory that it accesses: so
// this comes after all passes that move operations on memory.
//===----------------------------------------------------------------------===//

#include "Products.h"

#include "remat/Conversion/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTCOLLECTIVESTORUNTIME
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// The number of an element type in the runtime, see ScalarKind (Device.h).
static int64_t getScalarKind(Type type) {
  if (type.isF32())
    return 0;
  if (type.isF64())
    return 1;
  if (type.isF16())
    return 2;
  if (type.isBF16())
    return 3;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return 4;
  case 8:
    return 5;
  case 16:
    return 6;
  case 32:
    return 7;
  default:
    return 8;
  }
}

namespace {
class CallEmitter {
public:
  CallEmitter(Operation *op, SymbolTable &symbols)
      : op(op), b(op), loc(op->getLoc()), symbols(symbols) {}

  LogicalResult convert() {
    if (auto rank = dyn_cast<RankOp>(op)) {
      convert(rank);
    } else if (auto onBuffers = dyn_cast<DestinationStyleOpInterface>(op);
               failed(checkOperands(onBuffers))) {
      return failure();
    } else if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      convert(reduce);
    } else {
      convert(cast<AllGatherOp>(op));
    }
    op->erase();
    return success();
  }

private:
  LogicalResult checkOperands(DestinationStyleOpInterface onBuffers) {
    if (!onBuffers.hasPureBufferSemantics())
      return op->emitError("is on tensors, but only collectives on memrefs are "
                           "calls of the runtime");
    for (OpOperand &operand : op->getOpOperands())
      if (!isContiguous(cast<MemRefType>(operand.get().getType())))
        return op->emitError()
               << "exchanges memory that is not contiguous, operand #"
               << operand.getOperandNumber() << " of type "
               << operand.get().getType() << "; remat-pack-products copies it";
    return success();
  }

  Value getNumber(int64_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 64);
  }
  Value toInteger(Value index) {
    return arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
  }

  /// Of the first element.
  Value getAddress(Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    Value address = toInteger(
        memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref));
    SmallVector<int64_t> strides;
    int64_t offset;
    if (succeeded(type.getStridesAndOffset(strides, offset)) && offset == 0)
      return address;
    auto parts = memref::ExtractStridedMetadataOp::create(b, loc, memref);
    Value bytes =
        arith::MulIOp::create(b, loc, toInteger(parts.getOffset()),
                              getNumber(estimateBytes(type.getElementType())));
    return arith::AddIOp::create(b, loc, address, bytes);
  }

  /// The product of the sizes of these dimensions, and of `factor`.
  Value getProduct(Value memref, int64_t begin, int64_t end, int64_t factor) {
    auto type = cast<MemRefType>(memref.getType());
    Value dynamic;
    for (int64_t dim = begin; dim < end; ++dim) {
      if (!type.isDynamicDim(dim)) {
        factor *= type.getDimSize(dim);
        continue;
      }
      Value size = toInteger(memref::DimOp::create(b, loc, memref, dim));
      dynamic = dynamic
                    ? arith::MulIOp::create(b, loc, dynamic, size).getResult()
                    : size;
    }
    Value constant = getNumber(factor);
    return dynamic ? arith::MulIOp::create(b, loc, dynamic, constant)
                   : constant;
  }

  func::CallOp emitCall(StringRef name, ValueRange operands,
                        TypeRange results = {}) {
    func::CallOp call = createRuntimeCall(b, loc, symbols, name, operands,
                                          results, /*hasMemRefs=*/false);
    call->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return call;
  }

  void convert(RankOp rank) {
    func::CallOp call = emitCall(
        "remat_rank", {getNumber(rank.getStride()), getNumber(rank.getSize())},
        b.getI64Type());
    Value index =
        arith::IndexCastOp::create(b, loc, b.getIndexType(), call.getResult(0));
    rank.getCoordinate().replaceAllUsesWith(index);
  }

  void convert(AllReduceOp reduce) {
    int64_t numParts = reduce.getInputs().size();
    Value parts;
    {
      // Once, and not in each iteration of a loop.
      OpBuilder::InsertionGuard guard(b);
      auto function = reduce->getParentOfType<func::FuncOp>();
      b.setInsertionPointToStart(&function.getBody().front());
      parts = memref::AllocaOp::create(
          b, loc, MemRefType::get(numParts, b.getI64Type()));
    }
    for (auto [i, input] : llvm::enumerate(reduce.getInputs())) {
      Value at = arith::ConstantIndexOp::create(b, loc, i);
      memref::StoreOp::create(b, loc, getAddress(input), parts, at);
    }
    Value init = reduce.getInit();
    auto type = cast<MemRefType>(init.getType());
    emitCall("remat_all_reduce",
             {getNumber(static_cast<int64_t>(reduce.getKind())),
              getNumber(getScalarKind(type.getElementType())),
              getNumber(reduce.getStride()), getNumber(reduce.getSize()),
              getAddress(parts), getNumber(numParts), getAddress(init),
              getProduct(init, 0, type.getRank(), 1)});
  }

  void convert(AllGatherOp gather) {
    Value input = gather.getInput();
    auto type = cast<MemRefType>(input.getType());
    int64_t dim = gather.getDim();
    emitCall("remat_all_gather",
             {getNumber(gather.getStride()), getNumber(gather.getSize()),
              getProduct(input, 0, dim, 1),
              getProduct(input, dim, type.getRank(),
                         estimateBytes(type.getElementType())),
              getAddress(input), getAddress(gather.getInit())});
  }

  Operation *op;
  OpBuilder b;
  Location loc;
  SymbolTable &symbols;
};

struct ConvertCollectivesToRuntime
    : mlir::remat::impl::ConvertCollectivesToRuntimeBase<
          ConvertCollectivesToRuntime> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Operation *> collectives;
    module.walk([&](Operation *op) {
      if (isa<RankOp, AllReduceOp, AllGatherOp>(op))
        collectives.push_back(op);
    });
    if (collectives.empty())
      return markAllAnalysesPreserved();
    if (!refused.empty()) {
      collectives.front()->emitError(refused.getValue());
      return signalPassFailure();
    }
    SymbolTable symbols(module);
    for (Operation *op : collectives)
      if (failed(CallEmitter(op, symbols).convert()))
        return signalPassFailure();
  }
};
} // namespace
