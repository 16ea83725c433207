//===- InPlace.h - Which values one buffer can hold in turn -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_INPLACE_H
#define REMAT_TRANSFORMS_PACKMEMORY_INPLACE_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {

/// Returns true if `value` is `source` after operations of `block`, and of the
/// branches among them, that bufferization lets update it in place: neither
/// these nor later ones in `block` read an overwritten version.
bool isUpdateOf(Value value, Value source, Block *block);

/// Returns the initial value of `loop` in whose buffer its result `number`
/// ends, as all do after `carryInPlace`, or null.
Value getInit(scf::WhileOp loop, unsigned number);

/// Returns true if `value` is defined before `other`, which `block` computes.
/// Values for several buffers at the end of `block` are written in this order:
/// a newer value may be an update of an older one, and computed in its place.
bool isOlder(Value value, Value other, Block *block);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_INPLACE_H
