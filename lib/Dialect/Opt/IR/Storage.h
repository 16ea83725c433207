//===- Storage.h - How numbers are stored -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scalars between a number that a rule computes and what memory has of it.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_OPT_IR_STORAGE_H
#define REMAT_LIB_DIALECT_OPT_IR_STORAGE_H

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Opt/IR/UpdateKernels.h"

namespace mlir::opt {

/// The number (f32) of which `code`, an i8, has the code in the bits from
/// `shift` on, over its scale.
Value emitDecode(Formula &f, BlockwiseType type, Value code, unsigned shift);

/// The code (i32) whose value is nearest to `ratio` (f32), a number over its
/// scale; that of zero for a NaN, or for what is larger than its scale.
Value emitEncode(Formula &f, BlockwiseType type, Value ratio);

/// `code` (i32) in the bits of `byte` (i8) from `shift` on, whose others stay.
Value emitInsertCode(Formula &f, BlockwiseType type, Value byte, Value code,
                     unsigned shift);

/// `value` (f32) in bf16: the neighbour that is larger in magnitude with the
/// probability of what would be rounded away. Random bits are those of Philox
/// for a key, a step and the number of an element (all i64).
Value emitRoundStochastically(Formula &f, Value value, Value key, Value step,
                              Value element);

/// 1 or -1 of type `type`, with the bits of Philox for a key, an epoch and two
/// indices (all i64).
Value emitSign(Formula &f, Type type, Value key, Value epoch, Value i, Value j);

} // namespace mlir::opt

#endif // REMAT_LIB_DIALECT_OPT_IR_STORAGE_H
