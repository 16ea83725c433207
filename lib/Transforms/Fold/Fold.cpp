//===- Fold.cpp - Forms that later passes look for ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps run one after the other and not as one set of patterns: a product
// that already writes its result transposed would be rounded with it, and one
// that is rounded as it stands has other adjoints.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "remat/Transforms/Fold/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace mlir::remat {
#define GEN_PASS_DEF_FOLDPASS
#include "remat/Transforms/Fold/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
struct FoldPass : mlir::remat::impl::FoldPassBase<FoldPass> {
  void runOnOperation() override {
    for (auto *step :
         {foldClamps, dropUnusedResults, roundProducts, foldTransposes})
      if (failed(step(getOperation())))
        return signalPassFailure();
  }
};
} // namespace
