//===- Destination.h - Which tensors will share a buffer --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What bufferization will do in place, as far as the structure of tensor IR
// says, for passes that run before it.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_SCHEDULE_DESTINATION_H
#define REMAT_TRANSFORMS_SCHEDULE_DESTINATION_H

#include "mlir/IR/Value.h"

namespace mlir::remat {

/// The operand that `value` is the next version of, written in place by the
/// operation that defines it; null if there is none.
Value getDestination(OpResult value);

/// The operand whose buffer `value` shows without writing to it (views,
/// barriers); null if there is none.
Value getViewedTensor(OpResult value);

/// The operand that `value` shares a buffer with in either way; null if it has
/// one of its own.
Value getBufferSource(OpResult value);

/// Makes a `remat.destination` of each `tensor.empty` in `root`. Returns true
/// if there was one.
bool replaceEmptyTensors(Operation *root);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_SCHEDULE_DESTINATION_H
