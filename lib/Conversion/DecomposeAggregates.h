//===- DecomposeAggregates.h - Expand one aggregate -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_DECOMPOSEAGGREGATES_H
#define REMAT_LIB_CONVERSION_DECOMPOSEAGGREGATES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// Replaces `op`, on tensors, by structured operations, whose reductions get an
/// order.
LogicalResult decomposeAggregate(linalg::AggregatedOpInterface op);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_DECOMPOSEAGGREGATES_H
