//===- DeviceModule.cpp - A gpu.module on its way to a fatbin -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the steps, and the files that are dumped, have to agree on.
//===----------------------------------------------------------------------===//

#include "DeviceModule.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::remat;

SmallVector<Operation *> mlir::remat::getKernels(gpu::GPUModuleOp module) {
  SmallVector<Operation *> kernels;
  for (Operation &op : *module.getBody())
    if (op.hasAttr(gpu::GPUDialect::getKernelFuncAttrName()) ||
        op.hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) ||
        isa<gpu::GPUFuncOp>(op))
      kernels.push_back(&op);
  return kernels;
}

StringRef mlir::remat::getNewest(ArrayRef<ChipCode> chips) {
  auto getRank = [](StringRef chip) {
    unsigned number = 0;
    chip.consume_front("sm_");
    bool isForOthers = !chip.consumeInteger(10, number) && chip.empty();
    return std::make_pair(isForOthers, number);
  };
  return llvm::max_element(chips,
                           [&](const ChipCode &a, const ChipCode &b) {
                             return getRank(a.chip) < getRank(b.chip);
                           })
      ->chip;
}
