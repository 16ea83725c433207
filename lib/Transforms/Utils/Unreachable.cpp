//===- Unreachable.cpp - Blocks that no branch leads to -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Utils/Unreachable.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

bool remat::eraseUnreachable(Operation *root) {
  IRRewriter rewriter(root->getContext());
  return succeeded(eraseUnreachableBlocks(rewriter, root->getRegions()));
}
