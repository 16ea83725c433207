//===- InPlace.h - Which values one buffer can hold in turn -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_INPLACE_H
#define REMAT_TRANSFORMS_PACKMEMORY_INPLACE_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {

/// Whether `value` is `source` after operations of `block`, and of the branches
/// among them, that bufferization lets update it in place: none of them, nor
/// what stands behind it in `block`, reads what it overwrites.
bool isUpdateOf(Value value, Value source, Block *block);

/// What `loop` starts from in the buffer in which its result of this number is
/// in the end, as all do behind `carryInPlace`; null if that is not so.
Value getInit(scf::WhileOp loop, unsigned number);

/// Whether `value` is there before `other`, which `block` computes. What is to
/// be kept in several buffers at the end of `block` goes there in this order: a
/// newer value may be an update of an older one, and computed in its place.
bool isOlder(Value value, Value other, Block *block);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_INPLACE_H
