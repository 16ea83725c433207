//===- DevicePointers.cpp - Memory and scalars as kernels get them --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memrefs in kernels are descriptors made in place: every layout, static or
// dynamic, is passed in the same way.
//===----------------------------------------------------------------------===//

#include "DevicePointers.h"

#include "../TypeCasts.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::remat;

int64_t mlir::remat::getBytesInMemory(Type type) { return estimateBytes(type); }

StridedMetadata mlir::remat::getStridedMetadata(OpBuilder &builder,
                                                Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  memref::ExtractStridedMetadataOp dynamic;
  auto get = [&](int64_t value,
                 function_ref<Value(memref::ExtractStridedMetadataOp)> read)
      -> OpFoldResult {
    if (ShapedType::isStatic(value))
      return builder.getIndexAttr(value);
    if (!dynamic)
      dynamic = memref::ExtractStridedMetadataOp::create(builder, loc, memref);
    return read(dynamic);
  };
  StridedMetadata metadata;
  for (auto [dim, size, stride] : llvm::enumerate(type.getShape(), strides)) {
    metadata.sizes.push_back(
        get(size, [dim = dim](auto op) { return op.getSizes()[dim]; }));
    metadata.strides.push_back(
        get(stride, [dim = dim](auto op) { return op.getStrides()[dim]; }));
  }
  metadata.offset = get(offset, [](auto op) { return op.getOffset(); });
  return metadata;
}

std::optional<int64_t> mlir::remat::getSpannedBytes(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  if (!type.hasStaticShape())
    return std::nullopt;
  int64_t span = 1;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    if (ShapedType::isDynamic(stride) || stride < 0)
      return std::nullopt;
    if (size == 0)
      return 0;
    span = std::min(span + multiplySizes({size - 1, stride}), kSizeLimit);
  }
  return multiplySizes({span}, getBytesInMemory(type.getElementType()));
}

Value mlir::remat::createDevicePointer(OpBuilder &builder, Location loc,
                                       Value memref, OpFoldResult offset) {
  auto type = cast<MemRefType>(memref.getType());
  Value base =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref);
  int64_t width = getBytesInMemory(type.getElementType());
  OpFoldResult address = affine::makeComposedFoldedAffineApply(
      builder, loc,
      builder.getAffineSymbolExpr(0) + builder.getAffineSymbolExpr(1) * width,
      {base, offset});
  Value number = arith::IndexCastOp::create(
      builder, loc, builder.getI64Type(),
      getValueOrCreateConstantIndexOp(builder, loc, address));
  return LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), number);
}

Value mlir::remat::createFlatMemRef(OpBuilder &builder, Location loc,
                                    Value pointer, Type elementType,
                                    bool booleansAreBytes) {
  if (booleansAreBytes && elementType.isInteger(1))
    elementType = builder.getI8Type();
  Type i64 = builder.getI64Type();
  auto numbers = LLVM::LLVMArrayType::get(i64, 1);
  auto type = LLVM::LLVMStructType::getLiteral(
      builder.getContext(),
      {pointer.getType(), pointer.getType(), i64, numbers, numbers});
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, i64,
                                    builder.getI64IntegerAttr(value));
  };
  Value descriptor = LLVM::PoisonOp::create(builder, loc, type);
  auto set = [&](Value value, ArrayRef<int64_t> position) {
    descriptor =
        LLVM::InsertValueOp::create(builder, loc, descriptor, value, position);
  };
  set(pointer, {0});
  set(pointer, {1});
  set(constant(0), {2});
  // Nobody asks a kernel's memory for its size.
  set(constant(std::numeric_limits<int64_t>::max()), {3, 0});
  set(constant(1), {4, 0});
  return castTo(builder, loc, descriptor,
                MemRefType::get({ShapedType::kDynamic}, elementType));
}

Value mlir::remat::createStepScalar(OpBuilder &builder, Location loc,
                                    Value scalar) {
  return castTo(builder, loc, scalar,
                LLVM::LLVMPointerType::get(builder.getContext()));
}

Value mlir::remat::getStepScalar(Value pointer) {
  auto cast = pointer.getDefiningOp<UnrealizedConversionCastOp>();
  return cast && cast.getNumOperands() == 1 ? cast.getOperand(0) : Value();
}

Value mlir::remat::loadStepScalar(OpBuilder &builder, Location loc,
                                  Value pointer, Type type) {
  if (type.isIndex()) {
    Value word =
        LLVM::LoadOp::create(builder, loc, builder.getI64Type(), pointer);
    return arith::IndexCastOp::create(builder, loc, type, word);
  }
  if (!type.isInteger(1))
    return LLVM::LoadOp::create(builder, loc, type, pointer);
  Value byte = LLVM::LoadOp::create(builder, loc, builder.getI8Type(), pointer);
  return arith::TruncIOp::create(builder, loc, type, byte);
}
