//===- Philox.h - The random generator as IR --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits Philox 4x32-10 and the functions that normal draws need, in operations
// whose result IEEE 754 defines: the bits are the same on every target.
//===----------------------------------------------------------------------===//
#ifndef REMAT_TRANSFORMS_RANDOM_PHILOX_H
#define REMAT_TRANSFORMS_RANDOM_PHILOX_H

#include "mlir/IR/Builders.h"
#include <array>

namespace mlir::remat {

/// Philox 4x32 with ten rounds (Salmon et al., SC 2011) of a counter and a key
/// of i32 words, lowest first, or of vectors of such words. Returns four of the
/// same type.
std::array<Value, 4> emitPhilox4x32_10(OpBuilder &builder, Location loc,
                                       std::array<Value, 4> counter,
                                       std::array<Value, 2> key);

/// Low and high word of an i64, or of a vector of them.
std::array<Value, 2> emitSplit(OpBuilder &builder, Location loc, Value value);

/// The i64 with these low and high words.
Value emitJoin(OpBuilder &builder, Location loc, Value low, Value high);

/// log(x) for a normal x > 0 of type f32 (Cephes' polynomial) or f64
/// (fdlibm's), to about 1 ulp.
Value emitLog(OpBuilder &builder, Location loc, Value x);

/// sin(2 pi v) and cos(2 pi v) for v = `fraction` / 2^`bits`, a non-negative
/// integer of i32 (then results are f32, `bits` <= 24) or i64 (f64, <= 53).
/// The reduction is exact; the polynomials are Cephes' and fdlibm's.
std::array<Value, 2> emitSinCosOfTurns(OpBuilder &builder, Location loc,
                                       Value fraction, unsigned bits);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_RANDOM_PHILOX_H
