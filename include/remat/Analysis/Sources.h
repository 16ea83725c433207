//===- Sources.h - The values that values are computed from -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recursion over operands looks at a value once for each path that leads to it,
// of which a chain of additions of a value to itself has 2^n, and takes a stack
// as deep as programs are long. Walks that follow more than one operand go
// through here.
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_SOURCES_H
#define REMAT_ANALYSIS_SOURCES_H

#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir::remat {

/// Returns the values that `op` reads: its operands, and what its regions
/// capture.
SmallVector<Value> getInputs(Operation *op);

/// Appends the values to follow from a value: some of those that its operation
/// reads.
using AppendSources = function_ref<void(Value, SmallVectorImpl<Value> &)>;

/// Calls `visit` for `root` and for what it leads to by `appendSources`, each
/// value once, after its sources.
void walkSources(Value root, AppendSources appendSources,
                 function_ref<void(Value)> visit);

/// Returns what `evaluate` says about `root`. It is called once for each value,
/// when the answers for the sources of the value are in `known`, and never for
/// what `known` holds already.
template <typename T>
const T &evaluateOnce(Value root, DenseMap<Value, T> &known,
                      AppendSources appendSources,
                      function_ref<T(Value)> evaluate) {
  walkSources(
      root,
      [&](Value value, SmallVectorImpl<Value> &sources) {
        if (!known.contains(value))
          appendSources(value, sources);
      },
      [&](Value value) {
        if (known.contains(value))
          return;
        T answer = evaluate(value);
        known.try_emplace(value, std::move(answer));
      });
  return known.find(root)->second;
}

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_SOURCES_H
