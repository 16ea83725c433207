//===- CallAdjoints.h - Derivatives of called functions ---------*- C++ -*-===//
//
// A function that many layers call is differentiated once, not once per call.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_CALLADJOINTS_H
#define REMAT_LIB_AUTODIFF_CALLADJOINTS_H

#include "remat/Analysis/Activity.h"

namespace mlir::remat {

/// `@callee_fwd` returns the callee's results, then residuals. `@callee_bwd`
/// takes what it reads of the forward, then cotangents of results, and returns
/// cotangents of arguments.
struct CalleeAdjoint {
  func::FuncOp forward, backward;
  /// The first operands of the backward: arguments of the call, by index, and
  /// results of the forward, counted from the number of arguments.
  SmallVector<unsigned> reads;
  /// Results whose cotangents follow.
  SmallVector<unsigned> seeded;
  /// Arguments whose cotangents the backward returns.
  SmallVector<unsigned> returned;
};

/// The adjoints of all callees, one for each set of active arguments and
/// results.
class CallAdjoints {
public:
  CallAdjoints(SymbolTableCollection &symbols, CallSummaries &summaries)
      : symbols(symbols), summaries(summaries) {}

  /// The adjoint for `call` where the cotangents of the results `seeded` are
  /// there and those of the arguments `wanted` are needed. Fails with a
  /// diagnostic at the call.
  FailureOr<CalleeAdjoint> get(func::CallOp call, const BitVector &wanted,
                               const BitVector &seeded);

private:
  FailureOr<CalleeAdjoint> build(func::FuncOp callee, const BitVector &wanted,
                                 const BitVector &seeded);

  SymbolTableCollection &symbols;
  CallSummaries &summaries;
  // Looked up, never iterated.
  std::map<std::pair<Operation *, std::vector<bool>>, CalleeAdjoint> known;
  SmallVector<Operation *> running;
};

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_CALLADJOINTS_H
