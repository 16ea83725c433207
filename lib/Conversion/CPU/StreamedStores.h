//===- StreamedStores.h - Results that bypass the cache ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A store that misses the cache first reads the line that it is about to
// overwrite. A result that is larger than the cache is not found there
// afterwards: such a store moves twice the bytes for nothing.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_CPU_STREAMEDSTORES_H
#define REMAT_LIB_CONVERSION_CPU_STREAMEDSTORES_H

#include "KernelPlan.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {

/// The outputs whose vectors may be stored past the cache: larger than a cache,
/// in full cache lines if the memory begins with one, and read by nothing in
/// the kernel, which is `rows`, or that of the operation alone.
SmallVector<unsigned> findStreamed(const LoopNest &nest, const KernelPlan &plan,
                                   scf::ParallelOp rows = {});

/// The argument of the kernel `rows` in which `memref` is.
Value getWholeBuffer(Value memref);

/// Emits a test of whether each of these memrefs begins with a cache line.
Value emitBeginWithLines(OpBuilder &builder, Location loc, ValueRange memrefs);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CPU_STREAMEDSTORES_H
