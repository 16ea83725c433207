//===- BufferParts.h - Which bytes operations access ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After memory is packed, nearly every buffer is a part of one arena: what
// operations may be moved past each other is a question of bytes.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_BUFFERPARTS_H
#define REMAT_LIB_CONVERSION_BUFFERPARTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <limits>

namespace mlir::remat {

/// A part of a buffer.
struct BufferPart {
  /// The argument or allocation of the function; null if it is not known.
  Value buffer;
  /// True if it is an argument in which a function returns a result.
  bool isResult = false;
  /// The name, if it is a global: each use of one is another value.
  StringAttr global;
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
  /// True if these numbers say more than that.
  bool isKnown = false;
  /// Unless 0: the part is only the first `width` bytes of each `period` from
  /// `begin` on, such as some columns of a matrix.
  int64_t period = 0, width = 0;
};

/// The parts of buffers that an operation accesses.
struct Accesses {
  SmallVector<BufferPart> reads, writes;
};

BufferPart findPart(Value memref);

bool mayOverlap(const BufferPart &a, const BufferPart &b);
bool mayOverlap(ArrayRef<BufferPart> a, ArrayRef<BufferPart> b);

/// Returns true if `op` accesses no memory, but says at most where some is.
bool accessesNothing(Operation *op);

/// None for an operation that does more than access its operands.
std::optional<Accesses> findAccesses(Operation *op);

/// Returns true if neither writes what the other accesses.
bool areIndependent(const Accesses &a, const Accesses &b);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_BUFFERPARTS_H
