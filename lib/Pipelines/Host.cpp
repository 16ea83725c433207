//===- Host.cpp - From loops on the host to LLVM --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every target does with the part of a program that the host runs.
//===----------------------------------------------------------------------===//

#include "Host.h"

#include "remat/Conversion/Passes.h"
#include "remat/Transforms/Fold/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

void remat::addHostLowering(OpPassManager &pm) {
  // Polynomials have constants of their own, which take long to canonicalize.
  pm.addPass(remat::createCommonSubexpressionsPass());
  pm.addPass(createCanonicalizePass({/*cse=*/false}));
  // memref.reshape has no conversion of its own beside others.
  pm.addPass(memref::createExpandOpsPass());
  pm.addPass(remat::createSplitUnknownSizes());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(remat::createCommonSubexpressionsPass());
  // Views are gone with it, which what follows need not look at.
  pm.addPass(remat::createPassBarePointers());

  pm.addPass(remat::createLowerVectorsAndMath());
  // Processors without instructions for bf16 would call a function that not
  // every C library has, and those with some take denormals for zero.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  pm.addPass(createConvertMathToLibmPass());
  // Conversions visit blocks by dominance, which takes long for thousands.
  pm.addPass(remat::createConvertStructuredToBranches());
  // One conversion: each of the single ones reaches a function's arguments
  // through casts, in a time that grows with the square of their number.
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  // Splits descriptors that are not needed as a whole.
  pm.addPass(createCanonicalizePass({/*cse=*/false}));
  pm.addPass(remat::createPrepareForJIT());
}
