//===- BlockPool.cpp - Memory for shapes that are not known ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BlockPool.h"

#include <algorithm>

using namespace remat;
using namespace remat::cuda;

/// Sizes of blocks: eight between a power of two and the next, so that shapes
/// that differ a little share their blocks.
static size_t roundUp(size_t bytes) {
  size_t power = 256;
  while (power * 2 <= bytes)
    power *= 2;
  size_t unit = std::max<size_t>(256, power / 8);
  return std::max<size_t>(1, (bytes + unit - 1) / unit) * unit;
}

CUdeviceptr BlockPool::allocate(size_t bytes) {
  size_t size = roundUp(bytes);
  std::set<FreeBlock> &sameSize = freeBlocks[size];
  if (!sameSize.empty()) {
    CUdeviceptr pointer = sameSize.begin()->pointer;
    sameSize.erase(sameSize.begin());
    blocks.at(pointer).isFree = false;
    return pointer;
  }
  CUdeviceptr pointer =
      memory.allocate(MemoryClass::other, size, "a buffer of dynamic shape");
  blocks[pointer] = {size, numBlocks++, /*isFree=*/false};
  return pointer;
}

void BlockPool::free(CUdeviceptr pointer) {
  auto it = blocks.find(pointer);
  if (it == blocks.end() || it->second.isFree)
    fail("remat_cuda_free gets a pointer that remat_cuda_alloc did not return, "
         "or that is free already");
  it->second.isFree = true;
  freeBlocks[it->second.bytes].insert({it->second.number, pointer});
}

void BlockPool::releaseFreeBlocks() {
  for (auto &[size, sameSize] : freeBlocks) {
    for (const FreeBlock &block : sameSize) {
      memory.release(block.pointer);
      blocks.erase(block.pointer);
    }
    sameSize.clear();
  }
}
