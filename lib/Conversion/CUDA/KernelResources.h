//===- KernelResources.h - What ptxas says of kernels -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers decide how many threads a multiprocessor runs, spills and stack
// frames are traffic that no plan counts. ptxas reports them as text.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CUDA_KERNELRESOURCES_H
#define REMAT_LIB_CONVERSION_CUDA_KERNELRESOURCES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace llvm {
namespace json {
class OStream;
} // namespace json
} // namespace llvm

namespace mlir::remat {

/// Resources of one kernel on one chip, in bytes unless said otherwise.
struct KernelResources {
  std::string kernel;
  int64_t registers = 0; // a thread's
  int64_t workgroup = 0;
  int64_t spillStores = 0, spillLoads = 0;
  int64_t stack = 0;
};

/// Reads the log of `ptxas -v`, in its order.
llvm::SmallVector<KernelResources> parseKernelResources(llvm::StringRef log);

/// Writes the attributes of an object, without the kernel's name.
void printKernelResources(llvm::json::OStream &json,
                          const KernelResources &resources);

/// An error that ptxas reports.
struct AssemblerError {
  /// Empty if ptxas does not say it.
  llvm::StringRef kernel;
  std::string message;
};

/// Splits what ptxas printed when it failed; `ptx` is what it was given, to
/// find the kernel to which a line belongs.
llvm::SmallVector<AssemblerError> parseAssemblerErrors(llvm::StringRef log,
                                                       llvm::StringRef ptx);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_KERNELRESOURCES_H
