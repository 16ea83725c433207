//===- Passes.td ------------------------------------------*- tablegen -*-===//

#ifndef REMAT_CONVERSION_PASSES_TD
#define REMAT_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // REMAT_CONVERSION_PASSES_TD
