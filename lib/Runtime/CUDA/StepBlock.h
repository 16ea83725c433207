//===- StepBlock.h - Scalars that change from step to step -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A replayed graph has the arguments of its capture. So the step's number, the
// learning rate or the random state go to kernels by address: each has a slot,
// in the order of the commands, and the slots are copied before the commands.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_STEPBLOCK_H
#define REMAT_RUNTIME_CUDA_STEPBLOCK_H

#include "Staging.h"
#include "remat/CUDA/RuntimeMemory.h"

namespace remat::cuda {

class StepBlock {
public:
  /// `memory` has kStepBlockBytes.
  StepBlock(const Driver &driver, CUstream stream, CUdeviceptr memory)
      : staging(driver, stream, /*numSlots=*/4, kStepBlockBytes),
        memory(memory) {}

  bool hasRoomFor(size_t bytes) const {
    return values.size() + bytes <= size_t(kStepBlockBytes);
  }
  /// Returns where the commands of the current segment find the value. There
  /// is room for it.
  CUdeviceptr add(const void *value, size_t bytes);
  /// Puts the copy on the stream; the next value has the first slot again.
  void submit();
  size_t hostBytes() const { return staging.hostBytes(); }

private:
  Staging staging;
  CUdeviceptr memory;
  std::vector<char> values;
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_STEPBLOCK_H
