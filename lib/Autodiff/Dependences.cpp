//===- Dependences.cpp - A part of a block that runs by itself ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dependences.h"

#include "remat/Analysis/Sources.h"

using namespace mlir;
using namespace mlir::remat;

void Dependences::add(Value root) {
  SmallVector<Value> values{root};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == &block)
        arguments.set(argument.getArgNumber());
      continue;
    }
    Operation *op = block.findAncestorOpInBlock(*value.getDefiningOp());
    if (op && ops.insert(op).second)
      llvm::append_range(values, getInputs(op));
  }
}

IRMapping Dependences::clone(OpBuilder &builder, ValueRange values) const {
  IRMapping mapping;
  for (auto [index, value] : llvm::zip(arguments.set_bits(), values))
    mapping.map(block.getArgument(index), value);
  for (Operation &op : block)
    if (ops.contains(&op))
      builder.clone(op, mapping);
  return mapping;
}
