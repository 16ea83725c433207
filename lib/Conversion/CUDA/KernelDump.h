//===- KernelDump.h - Files with the code of kernels ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For people who look at code, and for checks of it (utils/check-ptx).
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CUDA_KERNELDUMP_H
#define REMAT_LIB_CONVERSION_CUDA_KERNELDUMP_H

#include "DeviceModule.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::remat {

/// Writes the modules, PTX, machine code and ptxas' log of each chip, the
/// fatbins and `manifest.json` with the kernels' resources into `folder`,
/// without times or paths. `version` is that of ptxas. Reports what fails at
/// `module`.
LogicalResult dumpKernels(ModuleOp module, StringRef folder,
                          ArrayRef<DeviceModule> devices, StringRef version);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_KERNELDUMP_H
