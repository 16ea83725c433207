//===- DeviceModule.h - A gpu.module on its way to a fatbin -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Filled step by step by remat-serialize-kernels.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CUDA_DEVICEMODULE_H
#define REMAT_LIB_CONVERSION_CUDA_DEVICEMODULE_H

#include "remat/Conversion/CUDA/Toolkit.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::remat {

/// A module's code for one chip.
struct ChipCode {
  StringRef chip;
  std::string ptx;
  Cubin cubin;
  /// Why there is none; from ptxas if there is PTX.
  std::string error;
};

struct DeviceModule {
  // Its accessors are not const.
  mutable gpu::GPUModuleOp op;
  std::string bitcode;
  /// Empty if nothing of it is called.
  StringRef libdevice;
  SmallVector<ChipCode> chips;
  std::string image;
};

/// Kernels in the gpu dialect or in NVVM, in the order of the module.
SmallVector<Operation *> getKernels(gpu::GPUModuleOp module);

/// The chip of the highest number; one with a suffix (sm_90a) only if there is
/// no other, since newer chips do not run its PTX.
StringRef getNewest(ArrayRef<ChipCode> chips);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_DEVICEMODULE_H
