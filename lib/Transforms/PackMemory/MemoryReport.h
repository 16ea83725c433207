//===- MemoryReport.h - The parts of a function's memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figures that remat-pack-memory prints, apart from how it finds them.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PACKMEMORY_MEMORYREPORT_H
#define REMAT_TRANSFORMS_PACKMEMORY_MEMORYREPORT_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::remat {

/// Bytes by class, at one point of the program.
struct MemoryParts {
  int64_t residuals = 0;
  int64_t gradients = 0;
  int64_t recomputed = 0;
  int64_t workspaces = 0;
  int64_t temporaries = 0;
  MemoryParts &operator+=(const MemoryParts &other) {
    residuals += other.residuals;
    gradients += other.gradients;
    recomputed += other.recomputed;
    workspaces += other.workspaces;
    temporaries += other.temporaries;
    return *this;
  }
};

/// A buffer or call that holds bytes of the arena from position `first` of the
/// program to `last`, both included.
struct LiveBuffer {
  int64_t first = 0, last = 0;
  int64_t bytes = 0;
  /// One of `MemoryParts`, in the singular; `call` for all that a called
  /// function needs.
  StringRef part;
  /// Elements, as in 8x16xf32; empty for a call.
  std::string type;
  /// The operation that writes it first, of calls the function, and its line or
  /// else its scope; empty if not known.
  std::string op, line;
};

struct FunctionMemory {
  std::string name;
  /// Bytes of the arena: the exact peak of everything the function computes.
  int64_t arena = 0;
  /// Largest sum of live bytes, and its parts.
  int64_t maxLive = 0;
  MemoryParts parts;
  /// All contents of the arena, in program order. Bytes that are live at one
  /// position add up to at most `maxLive`.
  SmallVector<LiveBuffer, 0> live;
  /// The first position with `maxLive` bytes, that of the backward's beginning
  /// (-1 without a backward), and the number of positions.
  int64_t peakPosition = 0, backwardPosition = -1, positions = 0;
  /// Largest sum of residuals that live at once, at the peak or elsewhere.
  int64_t residuals = 0;
  /// Bytes of arguments; of data, in all slots.
  int64_t parameters = 0, optimizerState = 0, modelState = 0, data = 0,
          results = 0;
  /// Of tables that the function reads.
  int64_t constants = 0;
  int64_t buffers = 0, takenOver = 0, unpacked = 0, copiedBytes = 0;
  int64_t recomputedOps = 0;
};

/// Returns the buffers that are live at the peak, the largest first.
SmallVector<const LiveBuffer *> getAtPeak(const FunctionMemory &function);

void printMemoryTable(ArrayRef<FunctionMemory> functions, raw_ostream &os);
void printMemoryJSON(ArrayRef<FunctionMemory> functions, raw_ostream &os);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_MEMORYREPORT_H
