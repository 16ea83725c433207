//===- Dependences.h - A part of a block that runs by itself ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_AUTODIFF_DEPENDENCES_H
#define REMAT_LIB_AUTODIFF_DEPENDENCES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::remat {

/// Operations of a block that some values depend on, and the block's arguments
/// among them.
struct Dependences {
  explicit Dependences(Block &block)
      : block(block), arguments(block.getNumArguments()) {}

  void add(Value root);

  /// Clones the operations, in their order, with `values` for the arguments
  /// among them. Returns what became what.
  IRMapping clone(OpBuilder &builder, ValueRange values) const;

  Block &block;
  DenseSet<Operation *> ops;
  BitVector arguments;
};

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_DEPENDENCES_H
