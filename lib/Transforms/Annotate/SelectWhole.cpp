//===- SelectWhole.cpp - A function as one region -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Origins.h"

#include "remat/Transforms/Annotate/Annotate.h"

using namespace mlir;
using namespace mlir::remat;

Selection mlir::remat::selectWhole(func::FuncOp function) {
  Origins origins(function);
  Selection selection{("@" + function.getName()).str(), {}};
  for (Operation &op : function.getBody().front().without_terminator())
    if (!origins.isMadeAgain(&op) && !isBoundToItsPlace(&op))
      selection.ops.push_back(&op);
  return selection;
}
