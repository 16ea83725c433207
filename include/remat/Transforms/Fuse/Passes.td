//===- Passes.td ------------------------------------------*- tablegen -*-===//

#ifndef REMAT_TRANSFORMS_FUSE_PASSES_TD
#define REMAT_TRANSFORMS_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // REMAT_TRANSFORMS_FUSE_PASSES_TD
