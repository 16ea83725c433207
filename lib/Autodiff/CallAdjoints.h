//===- CallAdjoints.h - Derivatives of called functions ---------*- C++ -*-===//
//
// A function that many layers call is differentiated once, not once per call.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_CALLADJOINTS_H
#define REMAT_LIB_AUTODIFF_CALLADJOINTS_H

#include "Activity.h"

namespace mlir::remat {

class CallAdjoints {
public:
  CallAdjoints(SymbolTableCollection &symbols, CallSummaries &summaries)
      : symbols(symbols), summaries(summaries) {}

private:
  [[maybe_unused]] SymbolTableCollection &symbols;
  [[maybe_unused]] CallSummaries &summaries;
};

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_CALLADJOINTS_H
