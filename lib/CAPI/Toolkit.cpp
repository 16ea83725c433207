//===- Toolkit.cpp - What compiling for NVIDIA needs ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat-c/Toolkit.h"

#include "remat/Conversion/CUDA/Toolkit.h"

#include "mlir/CAPI/Support.h"

using namespace mlir::remat;

MlirLogicalResult rematFindCUDAToolkit(MlirStringCallback text,
                                       void *userData) {
  llvm::Expected<Toolkit> toolkit = Toolkit::find("");
  if (!toolkit) {
    std::string message = llvm::toString(toolkit.takeError());
    text(wrap(llvm::StringRef(message)), userData);
    return mlirLogicalResultFailure();
  }
  if (toolkit->getLibdevice().empty()) {
    std::string message = toolkit->getRoot().str() +
                          " has no libdevice.10.bc; run `" +
                          kInstallToolkit.str() + "`";
    text(wrap(llvm::StringRef(message)), userData);
    return mlirLogicalResultFailure();
  }
  text(wrap(toolkit->getRoot()), userData);
  return mlirLogicalResultSuccess();
}
