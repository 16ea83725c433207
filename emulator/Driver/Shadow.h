//===- Shadow.h - Who accessed each byte last -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_DRIVER_SHADOW_H
#define REMAT_EMULATOR_DRIVER_SHADOW_H

#include "remat/Emulator/Thread.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace remat::cuda::emulator {

/// An access, and how far its thread was.
struct Stamp {
  /// Linear index of the block + 1; 0 if there was no access.
  uint32_t block = 0;
  /// Barriers that the block has passed.
  uint32_t epoch = 0;
  uint16_t thread = 0;
  /// Warp barriers that the thread has passed.
  uint16_t warpEpoch = 0;
  /// Number of the operation.
  uint32_t site = 0;

  bool isSet() const { return block != 0; }
  bool isOfSameWarp(const Stamp &other) const {
    return thread / kWarpSize == other.thread / kWarpSize;
  }
  /// Returns true if a barrier, or the order of one thread's instructions, puts
  /// `this` before `later`.
  bool isBefore(const Stamp &later) const {
    return block == later.block &&
           (thread == later.thread || epoch != later.epoch ||
            (isOfSameWarp(later) && warpEpoch != later.warpEpoch));
  }
};

/// The last accesses to a few bytes. Readers that a writer cannot be ordered
/// after, whoever it is, are flags: one of them stands for all.
class Cell {
public:
  /// Notes an access of `kind`. Returns an earlier one that conflicts with it,
  /// or null. What was noted before in another `run` is forgotten.
  const Stamp *access(uint32_t run, const Stamp &now, EmulatedAccessKind kind);
  bool isWritten(uint32_t inRun) const { return run == inRun && write.isSet(); }
  /// Returns true if `stamp`, which `access` returned, is of a write.
  bool isWrite(const Stamp *stamp) const { return stamp == &write; }

private:
  bool hasReaderThatRaces(const Stamp &now) const;
  void noteRead(const Stamp &now);

  uint32_t run = 0;
  bool isAtomic = false;
  bool hasManyBlocks = false, hasManyWarps = false, hasManyThreads = false;
  Stamp write, read;
};

/// Cells for a range of memory: one for each word, or for each byte in pages
/// where smaller accesses came.
class Shadow {
public:
  /// Calls `visit` with the cells of `bytes` from `offset` on, until it returns
  /// false.
  template <typename Visit>
  void visit(size_t offset, size_t bytes, Visit visit) {
    for (size_t end = offset + bytes; offset < end;) {
      size_t next = std::min(end, (offset / kPageBytes + 1) * kPageBytes);
      Page &page = getPage(offset / kPageBytes, (offset | next) % kWordBytes);
      size_t first = offset % kPageBytes >> page.shift;
      size_t last = (next - 1) % kPageBytes >> page.shift;
      for (size_t i = first; i <= last; ++i)
        if (!visit(page.cells[i]))
          return;
      offset = next;
    }
  }

private:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kWordBytes = 4;
  struct Page {
    unsigned shift;
    std::vector<Cell> cells;
  };
  Page &getPage(size_t index, bool needsBytes);

  std::vector<std::unique_ptr<Page>> pages;
};

} // namespace remat::cuda::emulator

#endif // REMAT_EMULATOR_DRIVER_SHADOW_H
