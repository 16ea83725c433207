//===- BlockPool.h - Memory for shapes that are not known ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers of dynamic shapes come and go within a step. Freed blocks are kept
// for the next request of their size: the driver's own functions wait for the
// device. There is one stream, so that a block can be used again at once:
// commands on the old buffer precede those on the new one. The oldest free
// block is taken, so that equal steps get equal addresses, whatever the order
// in which they free.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_BLOCKPOOL_H
#define REMAT_RUNTIME_CUDA_BLOCKPOOL_H

#include "DeviceMemory.h"

#include <set>

namespace remat::cuda {

class BlockPool {
public:
  explicit BlockPool(DeviceMemory &memory) : memory(memory) {}

  CUdeviceptr allocate(size_t bytes);
  void free(CUdeviceptr pointer);
  /// Gives free blocks back to the driver; commands that use them have been
  /// issued.
  void releaseFreeBlocks();

private:
  struct Block {
    size_t bytes;
    /// Counts blocks from the first one of the run.
    int64_t number;
    bool isFree;
  };
  struct FreeBlock {
    int64_t number;
    CUdeviceptr pointer;
    bool operator<(const FreeBlock &other) const {
      return number < other.number;
    }
  };

  DeviceMemory &memory;
  std::map<CUdeviceptr, Block> blocks;
  std::map<size_t, std::set<FreeBlock>> freeBlocks;
  int64_t numBlocks = 0;
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_BLOCKPOOL_H
