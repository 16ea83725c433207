//===- DeviceCode.h - LLVM IR of kernels to PTX -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part that knows no MLIR: one module of LLVM IR, compiled for a chip.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CUDA_DEVICECODE_H
#define REMAT_LIB_CONVERSION_CUDA_DEVICECODE_H

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir::remat {

/// Returns true if this LLVM compiles for `chip` ("sm_90").
bool isKnownChip(llvm::StringRef chip);

/// The layout of data on devices. Without it, LLVM takes 64-bit integers for
/// aligned to 4 bytes, and loads each by halves.
std::string getDeviceDataLayout();

/// Names of the functions that libdevice defines.
llvm::Expected<llvm::StringSet<>>
getLibdeviceFunctions(llvm::StringRef libdevice);

/// Optimizes `bitcode` for `chip` and prints it as PTX. Nothing is approximated
/// or contracted that the bitcode does not ask for. The functions that it lacks
/// are taken from the file `libdevice`, unless that is empty.
llvm::Expected<std::string> translateToPTX(llvm::StringRef bitcode,
                                           llvm::StringRef chip,
                                           llvm::StringRef libdevice);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_DEVICECODE_H
