//===- ThreadStates.h - Global states to values ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A read of something global cannot be replayed in a recompute once it has been
// written again; a read of a value can. Random generators and global variables
// are passed on in the same way.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_UTILS_THREADSTATES_H
#define REMAT_TRANSFORMS_UTILS_THREADSTATES_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::remat {

/// One global that becomes a value.
struct ThreadedState {
  Type type;
  /// Attributes of the argument and the result of functions that are called
  /// from outside of the module.
  DictionaryAttr argumentAttributes, resultAttributes;
};

/// The states of a module, how operations get at them, and how messages call
/// them.
struct ThreadedStates {
  SmallVector<ThreadedState> states;
  /// The state that an operation returns as its only result.
  llvm::function_ref<std::optional<unsigned>(Operation *)> getRead;
  /// The state that an operation replaces by its only operand.
  llvm::function_ref<std::optional<unsigned>(Operation *)> getWritten;
  /// "a random generator".
  StringRef noun;
  /// Advice for diagnostics: in a loop without an order, and elsewhere.
  StringRef parallelHint, otherHint;
};

/// Gives every function that reads or writes a state, itself or through calls,
/// one more argument and result of its type (after its own, in the order of the
/// states), and passes it through `scf.for`, `scf.while`, `scf.if`,
/// `scf.index_switch`, `scf.execute_region`, `remat.region` and `func.call` in
/// program order. Reads and writes are erased. A function that is called by
/// none and writes a state before anything else keeps it to itself.
///
/// An error, before anything is changed, at an access in a place that no value
/// can leave.
LogicalResult threadStates(ModuleOp module, const ThreadedStates &states);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_UTILS_THREADSTATES_H
