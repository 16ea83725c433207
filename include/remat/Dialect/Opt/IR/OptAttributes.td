//===- OptAttributes.td - Update rules --------------------*- tablegen -*-===//

#ifndef REMAT_DIALECT_OPT_IR_OPTATTRIBUTES_TD
#define REMAT_DIALECT_OPT_IR_OPTATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

#endif // REMAT_DIALECT_OPT_IR_OPTATTRIBUTES_TD
