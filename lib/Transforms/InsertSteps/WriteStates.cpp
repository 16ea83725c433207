//===- WriteStates.cpp - Model states in place ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The next value of a state may be another state's old value: a history keeps
// what was the newest entry, two buffers are exchanged. On tensors any order of
// the writes means the same; bufferization rejects one that overwrites a state
// before its old value has been stored elsewhere.
//===----------------------------------------------------------------------===//

#include "WriteStates.h"

#include "remat/Analysis/OldValueReads.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
struct Write {
  unsigned result;
  Value next, old;
  llvm::SetVector<Value> oldAliases;

  bool overwritesSourceOf(const Write &other) const {
    return other.result != result && oldAliases.contains(other.next);
  }
};
} // namespace

static SmallVector<Write> collectWrites(StepFunction &step) {
  Operation *terminator = step.function.getBody().front().getTerminator();
  SmallVector<Write> writes;
  for (auto [result, argument] : step.states) {
    Value old = step.function.getArgument(argument);
    Value next = terminator->getOperand(result);
    if (isa<RankedTensorType>(old.getType()) && next != old)
      writes.push_back({result, next, old, collectAliases(old)});
  }
  return writes;
}

/// The first write after which no other one needs what it has overwritten; the
/// first one if there is none, since states are exchanged.
static Write *chooseNext(MutableArrayRef<Write> writes) {
  Write *found = llvm::find_if(writes, [&](const Write &write) {
    return llvm::none_of(writes, [&](const Write &other) {
      return write.overwritesSourceOf(other);
    });
  });
  return found == writes.end() ? writes.begin() : found;
}

void mlir::remat::writeStatesInPlace(StepFunction &step, OpBuilder &builder) {
  Operation *terminator = step.function.getBody().front().getTerminator();
  builder.setInsertionPoint(terminator);
  SmallVector<Write> writes = collectWrites(step);
  DenseMap<Value, Value> stored;
  while (!writes.empty()) {
    Write *chosen = chooseNext(writes);
    Write write = std::move(*chosen);
    writes.erase(chosen);
    for (Write &other : writes)
      if (write.overwritesSourceOf(other))
        other.next = bufferization::AllocTensorOp::create(
            builder, other.old.getLoc(),
            cast<RankedTensorType>(other.next.getType()),
            /*dynamicSizes=*/ValueRange(), /*copy=*/other.next);
    // The next value of several states is computed in the buffer of one of
    // them.
    Value source = stored.lookup_or(write.next, write.next);
    Value written =
        bufferization::MaterializeInDestinationOp::create(
            builder, write.old.getLoc(), write.old.getType(), source, write.old)
            .getResult();
    stored.try_emplace(write.next, written);
    terminator->setOperand(write.result, written);
  }
}
