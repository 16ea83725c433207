//===- BufferParts.cpp - Which bytes operations access --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is not known may be anywhere: every answer errs on the side of a hazard.
//===----------------------------------------------------------------------===//

#include "BufferParts.h"

#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include <numeric>

using namespace mlir;
using namespace mlir::remat;

/// Finds the gaps between elements that lie at these strides: the innermost
/// dimensions reach over `width` elements, all others are multiples of more.
static void findGaps(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                     int64_t bytes, BufferPart &part) {
  SmallVector<std::pair<int64_t, int64_t>> byStride;
  for (auto [size, stride] : llvm::zip_equal(sizes, strides))
    if (size > 1)
      byStride.push_back({stride, size});
  llvm::sort(byStride);
  int64_t width = 1;
  for (auto *it = byStride.begin(); it != byStride.end(); ++it) {
    int64_t period = 0;
    for (auto *outer = it; outer != byStride.end(); ++outer)
      period = std::gcd(period, outer->first);
    if (period > width) {
      part.period = period * bytes;
      part.width = width * bytes;
      return;
    }
    width += it->first * (it->second - 1);
  }
}

/// The bytes that elements of `type` take, from where its memory starts;
/// unknown if that is not static.
static void narrow(MemRefType type, BufferPart &part) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (part.isKnown || !type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset) || std::abs(offset) > kSizeLimit ||
      llvm::any_of(strides, [](int64_t stride) {
        return ShapedType::isDynamic(stride) || stride < 0 ||
               stride > kSizeLimit;
      }))
    return;
  int64_t span = multiplySizes(type.getShape()) == 0 ? 0 : 1;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides))
    span += span == 0 ? 0 : multiplySizes({size - 1, stride});
  // More than any memory holds.
  if (span >= kSizeLimit)
    return;
  int64_t bytes = estimateBytes(type.getElementType());
  part.begin = offset * bytes;
  part.end = (offset + span) * bytes;
  part.isKnown = true;
  findGaps(type.getShape(), strides, bytes, part);
}

/// Returns true if one is in the gaps of the other all along.
static bool areInterleaved(const BufferPart &a, const BufferPart &b) {
  if (a.period == 0 || a.period != b.period)
    return false;
  int64_t shift = (b.begin - a.begin) % a.period;
  if (shift < 0)
    shift += a.period;
  return shift >= a.width && shift + b.width <= a.period;
}

/// Offsets count from where the memory starts that these share with their
/// source: only `memref.view` starts elsewhere.
static Value skipViews(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    if (!isa<memref::SubViewOp, memref::CastOp, memref::ReinterpretCastOp,
             memref::CollapseShapeOp, memref::ExpandShapeOp>(op) ||
        !isa<MemRefType>(op->getOperand(0).getType()))
      break;
    memref = op->getOperand(0);
  }
  return memref;
}

BufferPart mlir::remat::findPart(Value memref) {
  BufferPart part;
  while (true) {
    // The types from here to the memory all say where it is, the first one
    // best; but what is cast anew may be anywhere in that memory.
    Value base = skipViews(memref);
    for (Value value = memref; !part.isKnown;) {
      if (auto type = dyn_cast<MemRefType>(value.getType()))
        narrow(type, part);
      if (value == base)
        break;
      value = value.getDefiningOp<memref::ReinterpretCastOp>()
                  ? base
                  : value.getDefiningOp()->getOperand(0);
    }
    memref = base;
    auto view = memref.getDefiningOp<memref::ViewOp>();
    if (!view)
      break;
    if (std::optional<int64_t> begin = getConstantIntValue(view.getByteShift());
        begin && part.isKnown) {
      part.begin += *begin;
      part.end += *begin;
    } else {
      // Somewhere in the memory that it is a view of.
      part = BufferPart();
    }
    memref = view.getSource();
  }
  if (auto global = memref.getDefiningOp<memref::GetGlobalOp>()) {
    part.buffer = memref;
    part.global = global.getNameAttr().getAttr();
  } else if (memref.getDefiningOp<memref::AllocOp>()) {
    part.buffer = memref;
  } else if (auto argument = dyn_cast<BlockArgument>(memref)) {
    Block *block = argument.getOwner();
    auto function = dyn_cast<func::FuncOp>(block->getParentOp());
    if (block->isEntryBlock() && function) {
      part.buffer = memref;
      part.isResult = static_cast<bool>(
          function.getArgAttr(argument.getArgNumber(), "remat.result"));
    }
  }
  return part;
}

/// Results may be in the memory of arguments: all of one's in all of the
/// other's.
static bool mayBeOne(const BufferPart &a, const BufferPart &b) {
  if ((!a.isResult && !b.isResult) || !isa<BlockArgument>(a.buffer) ||
      !isa<BlockArgument>(b.buffer))
    return false;
  auto first = dyn_cast<MemRefType>(a.buffer.getType()),
       second = dyn_cast<MemRefType>(b.buffer.getType());
  return !first || !second || !first.hasStaticShape() ||
         !second.hasStaticShape() ||
         estimateBytes(first) == estimateBytes(second);
}

bool mlir::remat::mayOverlap(const BufferPart &a, const BufferPart &b) {
  if (!a.buffer || !b.buffer)
    return true;
  bool isSame = a.buffer == b.buffer || (a.global && a.global == b.global);
  if (!isSame)
    return mayBeOne(a, b);
  return a.begin < b.end && b.begin < a.end && !areInterleaved(a, b);
}

bool mlir::remat::mayOverlap(ArrayRef<BufferPart> a, ArrayRef<BufferPart> b) {
  return llvm::any_of(a, [&](const BufferPart &part) {
    return llvm::any_of(
        b, [&](const BufferPart &other) { return mayOverlap(part, other); });
  });
}

bool mlir::remat::areIndependent(const Accesses &a, const Accesses &b) {
  return !mayOverlap(a.writes, b.writes) && !mayOverlap(a.writes, b.reads) &&
         !mayOverlap(a.reads, b.writes);
}

/// Calls of the runtime do, whose memory is in their operands.
static bool accessesOperandsOnly(Operation *op) {
  if (op->getNumRegions() > 0)
    return false;
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        op, call.getCalleeAttr());
    return callee && callee.isExternal();
  }
  return isa<MemoryEffectOpInterface, DestinationStyleOpInterface>(op);
}

bool mlir::remat::accessesNothing(Operation *op) {
  return isa<ViewLikeOpInterface, memref::AllocOp>(op) ||
         isMemoryEffectFree(op);
}

std::optional<Accesses> mlir::remat::findAccesses(Operation *op) {
  Accesses accesses;
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op)) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()))
        continue;
      BufferPart part = findPart(operand.get());
      bool isOutput = linalg.isDpsInit(&operand);
      if (isOutput)
        accesses.writes.push_back(part);
      if (!isOutput || linalg.payloadUsesValueFromOperand(&operand))
        accesses.reads.push_back(part);
    }
    bool isKnown = true;
    op->walk([&](Operation *inner) {
      if (inner == op || isMemoryEffectFree(inner))
        return;
      auto load = dyn_cast<memref::LoadOp>(inner);
      isKnown &= static_cast<bool>(load);
      if (load)
        accesses.reads.push_back(findPart(load.getMemRef()));
    });
    if (!isKnown)
      return std::nullopt;
    return accesses;
  }
  if (!accessesOperandsOnly(op))
    return std::nullopt;
  for (Value operand : op->getOperands())
    if (isa<BaseMemRefType>(operand.getType())) {
      BufferPart part = findPart(operand);
      if (!isa<memref::StoreOp>(op))
        accesses.reads.push_back(part);
      if (!isa<memref::LoadOp>(op))
        accesses.writes.push_back(part);
    }
  return accesses;
}
