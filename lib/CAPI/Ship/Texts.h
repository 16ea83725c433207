//===- Texts.h - Sources beside a shipped object ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CAPI_SHIP_TEXTS_H
#define REMAT_LIB_CAPI_SHIP_TEXTS_H

#include "Layout.h"

namespace mlir::remat {

/// The header, for C11 and C++. `origin`: the name of the model's file;
/// `target`: the processor that the object is for.
std::string printHeader(const ShipLayout &layout, StringRef origin,
                        StringRef target);

/// How many steps the example and the test's file are of.
constexpr int64_t kTestSteps = 3;

/// A program that trains on the batch of the test's file, whose tensors are
/// `test`, and compares losses and the digest with those in it. It sets the
/// learning rates to `rates`, if there are some.
std::string printExample(const ShipLayout &layout, ArrayRef<ShipTensor> test,
                         ArrayRef<double> rates);

/// Names of tensors in the test's file: what data are called after it, the
/// losses of all steps, and the digest after them.
constexpr StringLiteral kTestBatch = "batch.", kTestLosses = "losses",
                        kTestDigest = "digest";

/// Build the example with `library`, and with the C compiler `compiler`.
std::string printMakefile(const ShipLayout &layout, StringRef library,
                          StringRef compiler);
std::string printCMakeLists(const ShipLayout &layout, StringRef library);

} // namespace mlir::remat

#endif // REMAT_LIB_CAPI_SHIP_TEXTS_H
