//===- Shadow.cpp - Who accessed each byte last ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shadow.h"

using namespace remat::cuda::emulator;

bool Cell::hasReaderThatRaces(const Stamp &now) const {
  if (!read.isSet())
    return false;
  if (hasManyBlocks || read.block != now.block)
    return true;
  if (read.epoch != now.epoch)
    return false;
  if (hasManyWarps || !read.isOfSameWarp(now))
    return true;
  return read.warpEpoch == now.warpEpoch &&
         (hasManyThreads || read.thread != now.thread);
}

void Cell::noteRead(const Stamp &now) {
  hasManyBlocks |= read.isSet() && read.block != now.block;
  bool isNewEpoch = read.block != now.block || read.epoch != now.epoch;
  if (isNewEpoch)
    hasManyWarps = hasManyThreads = false;
  else if (!read.isOfSameWarp(now))
    hasManyWarps = true;
  else if (read.warpEpoch != now.warpEpoch)
    hasManyThreads = false;
  else if (read.thread != now.thread)
    hasManyThreads = true;
  read = now;
}

const Stamp *Cell::access(uint32_t newRun, const Stamp &now,
                          EmulatedAccessKind kind) {
  if (run != newRun) {
    *this = Cell();
    run = newRun;
  }
  bool isAtomicNow = kind == EmulatedAccessKind::atomic;
  if (write.isSet() && !write.isBefore(now) && !(isAtomic && isAtomicNow))
    return &write;
  if (kind == EmulatedAccessKind::read) {
    noteRead(now);
    return nullptr;
  }
  if (hasReaderThatRaces(now))
    return &read;
  write = now;
  isAtomic = isAtomicNow;
  return nullptr;
}

Shadow::Page &Shadow::getPage(size_t index, bool needsBytes) {
  if (index >= pages.size())
    pages.resize(index + 1);
  std::unique_ptr<Page> &page = pages[index];
  constexpr unsigned wordShift = 2;
  static_assert(1U << wordShift == kWordBytes, "");
  if (!page) {
    unsigned shift = needsBytes ? 0 : wordShift;
    page.reset(new Page{shift, std::vector<Cell>(kPageBytes >> shift)});
  } else if (needsBytes && page->shift != 0) {
    std::vector<Cell> cells;
    for (const Cell &cell : page->cells)
      cells.insert(cells.end(), kWordBytes, cell);
    *page = {0, std::move(cells)};
  }
  return *page;
}
