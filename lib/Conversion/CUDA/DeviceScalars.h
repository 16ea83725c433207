//===- DeviceScalars.h - Scalars that depend on tensors ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_CUDA_DEVICESCALARS_H
#define REMAT_LIB_CONVERSION_CUDA_DEVICESCALARS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::remat {

/// Returns true if `op` computes scalars from scalars, or extracts one.
bool isScalarOp(Operation *op);

/// Scalars on the host that depend on what tensors hold. Knows programs as they
/// were when it was asked.
class DeviceScalars {
public:
  bool contains(Value value);

private:
  DenseMap<Value, bool> known;
};

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_DEVICESCALARS_H
