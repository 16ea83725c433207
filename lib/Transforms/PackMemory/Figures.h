//===- Figures.h - What is measured of a packed function --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_PACKMEMORY_FIGURES_H
#define REMAT_LIB_TRANSFORMS_PACKMEMORY_FIGURES_H

#include "Lifetimes.h"
#include "MemoryReport.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// The figures of a packed function that its callers need.
struct Frame {
  int64_t bytes = 0;
  MemoryParts parts;
  int64_t residuals = 0;
  /// Operations on memory that one call runs, and those of them that recompute.
  int64_t ops = 0, recomputedOps = 0;
  /// Bytes that one call copies.
  int64_t copiedBytes = 0;
  /// Constant tables that it or its callees read.
  llvm::SetVector<Operation *> tables;
};

/// Something that occupies bytes of the arena: buffers that follow each other
/// at one place, or the arena of a call.
struct Place {
  Lifetime lifetime;
  int64_t size = 0;
  SmallVector<unsigned> buffers;
  func::CallOp call;
};

/// Finds the figures of a function's report before it is rewritten.
class Figures {
public:
  /// `frames`: of all functions that it calls.
  Figures(func::FuncOp function, Lifetimes &lifetimes,
          const DenseMap<Operation *, Frame> &frames, SymbolTable &symbols,
          int64_t alignment)
      : function(function), lifetimes(lifetimes), frames(frames),
        symbols(symbols), alignment(alignment) {}

  /// Fills in the figures that `memory` does not have yet: all but those of the
  /// packing itself. `peak` is the first position at which most bytes are live.
  void describe(ArrayRef<Place> places, int64_t peak,
                const llvm::SetVector<memref::CopyOp> &needlessCopies,
                int64_t dataSlots, FunctionMemory &memory);
  /// Returns the figures that callers need, after `describe`.
  Frame getFrame(const FunctionMemory &memory) const;

private:
  const Frame *getCallee(func::CallOp call) const;
  void countOps(Operation *op, FunctionMemory &memory);
  Operation *getWriter(const Buffer &buffer) const;
  LiveBuffer describeBuffer(const Buffer &buffer) const;
  void describePlace(const Place &place, FunctionMemory &memory);
  int64_t getMostResiduals(ArrayRef<Place> places);
  void describeArgument(unsigned index, Type type, int64_t dataSlots,
                        FunctionMemory &memory);

  func::FuncOp function;
  Lifetimes &lifetimes;
  const DenseMap<Operation *, Frame> &frames;
  SymbolTable &symbols;
  int64_t alignment;
  DenseMap<Operation *, size_t> textOrder;
  /// Operations on memory that one call runs.
  int64_t ops = 0;
  llvm::SetVector<Operation *> tables;
};

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PACKMEMORY_FIGURES_H
