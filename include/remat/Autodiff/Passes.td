//===- Passes.td ------------------------------------------*- tablegen -*-===//

#ifndef REMAT_AUTODIFF_PASSES_TD
#define REMAT_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // REMAT_AUTODIFF_PASSES_TD
