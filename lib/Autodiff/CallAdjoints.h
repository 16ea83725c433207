//===- CallAdjoints.h - Derivatives of called functions ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function that many layers call is differentiated once, not once per call.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_CALLADJOINTS_H
#define REMAT_LIB_AUTODIFF_CALLADJOINTS_H

#include "Sums.h"
#include "remat/Analysis/Activity.h"
#include "remat/Autodiff/CallPairs.h"

namespace mlir::remat {

/// The pair for a callee and for what is active in a call of it.
struct CalleeAdjoint : CallPair {
  /// Results whose cotangents follow.
  SmallVector<unsigned> seeded;
  /// Arguments of whose cotangents the sums so far follow.
  SmallVector<unsigned> summed;
  /// Arguments whose cotangents the backward returns.
  SmallVector<unsigned> returned;
  /// Where each of these is not zero, as far as that is known.
  SmallVector<std::optional<SmallVector<TensorPart>>> slices;
};

/// The adjoints of all callees, one for each set of active arguments and
/// results.
class CallAdjoints {
public:
  CallAdjoints(SymbolTableCollection &symbols, CallSummaries &summaries)
      : symbols(symbols), summaries(summaries) {}

  /// Sums of cotangents by the arguments that they are for.
  using SumsSoFar = SmallVector<std::pair<unsigned, Sum>>;

  /// The adjoint for `call` where the cotangents of the results `seeded` are
  /// there, those of the arguments `wanted` are needed, and some of these go on
  /// from `sums`. Fails with a diagnostic at the call.
  FailureOr<CalleeAdjoint> get(func::CallOp call, const BitVector &wanted,
                               const BitVector &seeded, const SumsSoFar &sums);

private:
  FailureOr<CalleeAdjoint> build(func::FuncOp callee, const BitVector &wanted,
                                 const BitVector &seeded,
                                 const SumsSoFar &sums);

  SymbolTableCollection &symbols;
  CallSummaries &summaries;
  // Looked up, never iterated.
  std::map<std::pair<Operation *, std::vector<int64_t>>, CalleeAdjoint> known;
  SmallVector<Operation *> running;
};

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_CALLADJOINTS_H
