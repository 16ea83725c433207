//===- WarpShuffle.cpp - What the threads of a warp exchange --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WarpShuffle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace mlir::remat;

static constexpr unsigned kWordBits = 32;

bool mlir::remat::canShuffle(Type type) {
  return type.isIndex() ||
         (type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 2 * kWordBits);
}

static Value createWordShuffle(OpBuilder &b, Location loc, Value word,
                               int64_t distance) {
  return gpu::ShuffleOp::create(b, loc, word, distance, /*width=*/kWarp,
                                gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

/// Of integers, by their words.
static Value createBitShuffle(OpBuilder &b, Location loc, Value bits,
                              int64_t distance) {
  Type type = bits.getType(), word = b.getI32Type();
  if (type == word)
    return createWordShuffle(b, loc, bits, distance);
  if (type.getIntOrFloatBitWidth() < kWordBits) {
    Value wide = arith::ExtUIOp::create(b, loc, word, bits);
    return arith::TruncIOp::create(b, loc, type,
                                   createWordShuffle(b, loc, wide, distance));
  }
  Value shift =
      arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, kWordBits));
  auto exchange = [&](Value part) -> Value {
    Value low = arith::TruncIOp::create(b, loc, word, part);
    return arith::ExtUIOp::create(b, loc, type,
                                  createWordShuffle(b, loc, low, distance));
  };
  Value low = exchange(bits);
  Value high = exchange(arith::ShRUIOp::create(b, loc, bits, shift));
  return arith::OrIOp::create(b, loc, low,
                              arith::ShLIOp::create(b, loc, high, shift));
}

Value mlir::remat::createShuffle(OpBuilder &b, Location loc, Value value,
                                 int64_t distance) {
  Type type = value.getType();
  if (type.isF32())
    return createWordShuffle(b, loc, value, distance);
  if (type.isInteger())
    return createBitShuffle(b, loc, value, distance);
  if (type.isIndex()) {
    Value bits = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
    return arith::IndexCastOp::create(b, loc, type,
                                      createBitShuffle(b, loc, bits, distance));
  }
  Type bitsType = b.getIntegerType(type.getIntOrFloatBitWidth());
  Value bits = arith::BitcastOp::create(b, loc, bitsType, value);
  return arith::BitcastOp::create(b, loc, type,
                                  createBitShuffle(b, loc, bits, distance));
}
